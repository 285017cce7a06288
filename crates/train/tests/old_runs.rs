//! Run folders that version 0.1 wrote still resume, evaluate and generate.

mod common;

use common::{folder, train};
use kuramoto_engine::Cpu;
use kuramoto_kernels::arch::{self, Level};
use kuramoto_train::evaluate::evaluate;
use kuramoto_train::generate::{Sampling, generate};
use kuramoto_train::{Corpus, Overlay, Run, Split, Which, disk::System, hash};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// What version 0.1 gave on a processor with AVX-512.
struct Expected {
    name: &'static str,
    /// Bits per byte of the validation split after step 6.
    validation: f64,
    /// Written after "Anna was a " at temperature 0.8 with seed 1.
    text: &'static str,
    /// sha256 of weights and moments after step 12, and the best validation.
    weights: &'static str,
    moments: &'static str,
    best: f64,
}

const RUNS: [Expected; 2] = [
    Expected {
        name: "kuramoto",
        validation: 5.3247866895153955,
        text: "o?joLgqlAGicoHLozAktGr?ad vWotBy yymsDOWqmplxb?jGiMbWbNpTLmH",
        weights: "3d6c9532722ae23d5ad873532932e51d9227ddc38e6f190fc6624fb44aee2f74",
        moments: "72134f42cb53d1a3232c66a0d9b46b95b04a89f7b442e440c42d9c80c181151d",
        best: 5.030175159206183,
    },
    Expected {
        name: "transformer",
        validation: 5.340684540583012,
        text: "ueHsAHd.tCJMTOhe,Cb.fni Osds rKE.dfinvnh\nNDGwFEuDbkcwvpflDA?",
        weights: "53435167ae6690a92836619e7155b85ad2d9f78900521a2dcecff0afcf27b475",
        moments: "49eb1bdcd8f1d9adf5ba12a4a162f843e9a9ee0e0ccfabe567ceb5b65f168523",
        best: 4.890177345493975,
    },
];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() { copy(&from, &to) } else { fs::copy(&from, &to).map(drop).unwrap() }
    }
}

#[test]
fn runs_of_version_0_1_go_on() {
    let same_instructions = arch::level() == Level::Avx512;
    let near = |found: f64, expected: f64| match same_instructions {
        true => found == expected,
        false => (found - expected).abs() < 1e-4,
    };
    for expected in RUNS {
        let folder = folder();
        let path = folder.path().join(expected.name);
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(expected.name), &path);
        let mut run = Run::open(&path).unwrap();
        let corpus = Arc::new(Corpus::of_run(&run, folder.path()).unwrap());
        let found = evaluate(&run, Which::Best, &corpus, Split::Validation, &Cpu::new(2)).unwrap();
        assert!(near(found.bits_per_byte, expected.validation), "{}: {}", expected.name, found.bits_per_byte);
        let mut text = Vec::new();
        let sampling = Sampling { temperature: 0.8, seed: 1, ..Default::default() };
        generate(&run, Which::Best, b"Anna was a ", 60, &sampling, &mut |byte| {
            text.push(byte);
            true
        })
        .unwrap();
        assert_eq!(String::from_utf8_lossy(&text), expected.text);
        run.reconfigure(&[Overlay::set("--steps", "length.steps", "12")]).unwrap();
        let summary = train(&run, &corpus, &System, 3, &mut ()).unwrap();
        // What computed the first six steps is not known.
        assert_eq!(summary.devices.iter().map(|stretch| stretch.from_step).collect::<Vec<_>>(), [7]);
        let best = summary.validation_bits_per_byte.unwrap();
        assert!(near(best, expected.best), "{}: {best}", expected.name);
        if same_instructions {
            let hash = |name: &str| hash::of(&fs::read(path.join("checkpoints/step-12").join(name)).unwrap());
            assert_eq!(hash("model.safetensors"), expected.weights);
            assert_eq!(hash("optimizer.safetensors"), expected.moments);
        }
    }
}

#[test]
fn accumulated_batches_are_refused_with_a_sentence() {
    let folder = folder();
    let path = folder.path().join("run");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kuramoto"), &path);
    let config = fs::read_to_string(path.join("config.toml")).unwrap();
    fs::write(path.join("config.toml"), config.replace("accumulate = 1", "accumulate = 2")).unwrap();
    let error = Run::open(&path).unwrap_err().to_string();
    assert!(
        error.contains("batch.accumulate = 2 is not supported any more: multiply batch.sequences"),
        "{error}"
    );
}

/// Any folder of shards was called codeparrot.
#[test]
fn a_run_on_other_shards_is_not_of_the_papers_corpus() {
    let folder = folder();
    let path = folder.path().join("run");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kuramoto"), &path);
    let corpus = fs::read_to_string(path.join("corpus.json")).unwrap();
    fs::write(path.join("corpus.json"), corpus.replace("\"tales\"", "\"codeparrot\"")).unwrap();
    let run = Run::open(&path).unwrap();
    assert_eq!(run.corpus().name, "codeparrot-other");
    assert!(run.checkpoint(Which::Last).is_ok(), "its checkpoints are as good as before");
}
