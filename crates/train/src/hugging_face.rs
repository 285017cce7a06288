//! A trained model in the layout of Hugging Face Transformers.
//!
//! The folder holds everything that `AutoModelForCausalLM.from_pretrained` needs, the model's code included: it
//! is loaded with `trust_remote_code=True`, and without a network. The code is that of the Python package.

use crate::checkpoint;
use crate::disk::{self, Disk};
use crate::error::{Error, Result};
use crate::publish::{facts, whole};
use crate::run::{Run, Which};
use kuramoto_model::{weight_file, with_network};
use serde_json::{Value, json};
use std::path::Path;

/// Names of code files in the folder, and what they hold.
const CODE: [(&str, &str); 4] = [
    ("kuramoto_torch.py", include_str!("../../python/python/kuramoto/torch.py")),
    ("configuration_kuramoto.py", include_str!("../../python/python/kuramoto/hf/configuration_kuramoto.py")),
    ("modeling_kuramoto.py", include_str!("../../python/python/kuramoto/hf/modeling_kuramoto.py")),
    ("tokenization_kuramoto.py", include_str!("../../python/python/kuramoto/hf/tokenization_kuramoto.py")),
];

/// What the model of Transformers calls ours, and so how its weights begin.
const PREFIX: &str = "lm.";

/// For what reads the card.
const FRONT: &str = "---\n\
                     library_name: transformers\n\
                     pipeline_tag: text-generation\n\
                     tags:\n\
                     - kuramoto-attention\n\
                     - byte-level\n\
                     ---\n\n";

/// Writes the model of a finished run as a new folder, which is there completely or not at all.
pub fn write(disk: &dyn Disk, run: &Run, which: Which, folder: &Path) -> Result<()> {
    let Some(summary) = run.summary() else {
        return Err(Error::run(run.folder(), "it has no summary yet: finish its training with --resume"));
    };
    let (config, context) = (&run.config().model, run.config().batch.context);
    let (weights, step) = with_network!(config, context, |network| {
        let loaded = run.load(which, network.layout())?;
        (weight_file::encode(network.layout(), &[(PREFIX, &loaded.parameters)]), loaded.state.step)
    });
    let sha256 = checkpoint::weights_sha256(&checkpoint::folder(run.folder(), step), run)?;
    whole(disk, folder, |beside| {
        let put = |name: &str, bytes: &[u8]| disk::replace(disk, &beside.join(name), bytes);
        for (name, code) in CODE {
            put(name, code.as_bytes())?;
        }
        put("config.json", &pretty(&description(run)))?;
        put("tokenizer_config.json", &pretty(&tokenizer()))?;
        put("generation_config.json", &pretty(&generation()))?;
        put("vocabulary.json", json!(run.corpus().vocabulary).to_string().as_bytes())?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let card = format!("{FRONT}{}{}", facts(run, &summary, &name, step, &sha256), usage(run));
        put("README.md", card.as_bytes())?;
        put("model.safetensors", &weights)
    })
}

fn description(run: &Run) -> Value {
    json!({
        "model_type": "kuramoto-attention",
        "architectures": ["KuramotoForCausalLM"],
        "auto_map": {
            "AutoConfig": "configuration_kuramoto.KuramotoConfig",
            "AutoModelForCausalLM": "modeling_kuramoto.KuramotoForCausalLM",
        },
        "dtype": "float32",
        "tie_word_embeddings": false,
        "context": run.config().batch.context,
        "model": run.config().model,
        "vocabulary": run.corpus().vocabulary,
    })
}

fn tokenizer() -> Value {
    json!({
        "auto_map": { "AutoTokenizer": ["tokenization_kuramoto.KuramotoTokenizer", null] },
        "clean_up_tokenization_spaces": false,
        "tokenizer_class": "KuramotoTokenizer",
    })
}

/// Transformers would otherwise draw from the likeliest 50 bytes, and stop after 20.
fn generation() -> Value {
    json!({ "do_sample": true, "max_new_tokens": 200, "temperature": 0.8, "top_k": 0, "use_cache": false })
}

fn usage(run: &Run) -> String {
    let prompt = crate::generate::default_prompt(run.corpus());
    let prompt = String::from_utf8_lossy(&prompt);
    format!(
        "The hash is that of the weights as the program saved them; here the same tensors have `{PREFIX}` before \
         their names.\n\n\
         ```python\n\
         from transformers import AutoModelForCausalLM, AutoTokenizer\n\n\
         model = AutoModelForCausalLM.from_pretrained(\".\", trust_remote_code=True)\n\
         tokenizer = AutoTokenizer.from_pretrained(\".\", trust_remote_code=True)\n\
         inputs = tokenizer({prompt:?}, return_tensors=\"pt\")\n\
         print(tokenizer.decode(model.generate(**inputs)[0]))\n\
         ```\n\n\
         A token is a byte. There is no padding, and no cache: every byte reads the text before it anew. \
         `kuramoto_torch.py` has the model, with the equations of the paper.\n\n\
         It is a small model for research on how such models work. What it writes looks like its corpus and is \
         not true.\n"
    )
}

fn pretty(value: &Value) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("plain data");
    text.push(b'\n');
    text
}
