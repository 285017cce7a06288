//! A model that is asked about one text after another answers as one that never read anything else.

use kuramoto_answer::{Model, PullQuestion, Question, WriteQuestion, Writer, about, inspect, parse, pulls};
use kuramoto_model::corpus::Identity;
use kuramoto_model::{Kuramoto, KuramotoConfig, Weights};
use safetensors::SafeTensors;
use serde_json::{Value, json};

fn model() -> Model {
    let vocabulary: Vec<u8> = (b' '..=b'~').collect();
    let config =
        KuramotoConfig { vocab: vocabulary.len(), width: 16, heads: 2, layers: 3, ..Default::default() };
    let weights = Weights::initialized(Kuramoto::new(config, 32).unwrap(), 5);
    Model::new(weights, Identity { vocabulary, ..Default::default() }, 7)
}

fn ask(model: &mut Model, question: &Value) -> Vec<u8> {
    let question: Question = parse(question.to_string().as_bytes()).unwrap();
    inspect(model, &question).unwrap().encode()
}

fn names(answer: &[u8]) -> Vec<String> {
    let mut names: Vec<String> =
        SafeTensors::deserialize(answer).unwrap().names().into_iter().map(String::from).collect();
    names.sort();
    names
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&four| f32::from_le_bytes(four)).collect()
}

/// Largest difference between the arrays of two answers, which must have the same names and shapes.
fn apart(a: &[u8], b: &[u8]) -> f32 {
    assert_eq!(names(a), names(b));
    let (a, b) = (SafeTensors::deserialize(a).unwrap(), SafeTensors::deserialize(b).unwrap());
    let mut worst = 0.0;
    for (name, array) in a.iter() {
        let other = b.tensor(name).unwrap();
        assert_eq!(array.shape(), other.shape(), "{name}");
        // Which of two nearly equal bytes is likelier may differ.
        if name.ends_with("likely") {
            continue;
        }
        for (x, y) in floats(array.data()).into_iter().zip(floats(other.data())) {
            assert_eq!(x.is_nan(), y.is_nan(), "{name}");
            worst = f32::max(worst, if x.is_nan() { 0.0 } else { (x - y).abs() });
        }
    }
    worst
}

#[test]
fn what_was_read_before_does_not_matter() {
    let mut busy = model();
    let mut steady = model();
    let touched = json!([{ "at": "layer.1.attention", "action": { "flatten": 0.7 } }]);
    for text in [
        "Anna was a bake",
        "Anna was a baker",
        "Anna was a baker.",
        "Anna was a baker.",
        "Anna was a bak",
        "Anna wasn't a bak",
        "A",
        "Another text, as long as it gets",
        "Another text",
        "B",
    ] {
        let plain = json!({ "run": "", "text": text });
        let with =
            json!({ "run": "", "text": text, "interventions": touched, "changes": [{ "scale-tau": 0.5 }] });
        // On a byte that every text but the shortest has, and on all of them.
        let on = json!([{ "at": "layer.0.phase", "action": { "rotate": 1.0 }, "tokens": [9] },
                        { "at": "layer.1.phase.mid", "action": { "fade": 0.5 }, "oscillators": [1, 2] }]);
        let also = json!({ "run": "", "text": text, "interventions": on });
        for question in [&plain, &with, &plain, &also] {
            let difference = apart(&ask(&mut busy, question), &ask(&mut model(), question));
            assert!(difference < 1e-5, "{text}: {difference:e}");
        }
        // With nothing else in between, a touched text is read on too.
        let difference = apart(&ask(&mut steady, &with), &ask(&mut model(), &with));
        assert!(difference < 1e-5, "{text}: {difference:e}");
        let pull = json!({ "question": plain, "token": text.len() - 1, "locking": 0.9 });
        let pull: PullQuestion = parse(pull.to_string().as_bytes()).unwrap();
        let coupling = |answer: &Value| answer["layers"][2][0]["coupling"].as_f64().unwrap();
        let (own, fresh) = (pulls(&mut busy, &pull).unwrap(), pulls(&mut model(), &pull).unwrap());
        assert!((coupling(&own) - coupling(&fresh)).abs() < 1e-5, "{text}");
    }
}

#[test]
fn writing_is_reading_on() {
    let text = "Anna was a merry baker";
    let asked = json!({ "question": { "run": "", "text": text }, "bytes": 30,
                        "sampling": { "temperature": 0.9, "top_p": 1.0, "seed": 3 } });
    let asked: WriteQuestion = parse(asked.to_string().as_bytes()).unwrap();
    let mut busy = model();
    let mut writer = Writer::new(&busy, &asked).unwrap();
    let mut whole = text.as_bytes().to_vec();
    while let Some(message) = writer.next(&mut busy).unwrap() {
        whole.push(SafeTensors::deserialize(&message.encode()).unwrap().tensor("byte").unwrap().data()[0]);
        // Somebody else asks in between.
        ask(&mut busy, &json!({ "run": "", "text": "Quite another" }));
    }
    let mut fresh = model();
    let mut writer = Writer::new(&fresh, &asked).unwrap();
    let mut again = text.as_bytes().to_vec();
    while let Some(message) = writer.next(&mut fresh).unwrap() {
        again.push(SafeTensors::deserialize(&message.encode()).unwrap().tensor("byte").unwrap().data()[0]);
    }
    assert_eq!((whole.len(), &whole), (text.len() + 30, &again));
}

#[test]
fn only_what_is_asked_for_is_sent() {
    let mut model = model();
    let mut parts =
        |parts: Value| names(&ask(&mut model, &json!({ "run": "", "text": "Anna", "parts": parts })));
    assert_eq!(parts(json!(["bits", "likely"])), ["bits", "chance", "likely"]);
    assert_eq!(parts(json!(["phase"])), ["phase"]);
    assert_eq!(parts(json!(["coupling", "omega"])), ["coupling", "omega"]);
    assert_eq!(parts(json!(["order"])), ["alignment", "global", "local"]);
    assert!(parts(json!([])).is_empty());
    assert_eq!(names(&ask(&mut model, &json!({ "run": "", "text": "Anna" }))).len(), 9, "all of it");
    let unknown = json!({ "run": "", "text": "Anna", "parts": ["mood"] }).to_string();
    assert!(parse::<Question>(unknown.as_bytes()).unwrap_err().to_string().contains("mood"));
}

#[test]
fn a_page_knows_what_can_be_read() {
    let model = model();
    assert_eq!(about(model.corpus(), 5000, 3)["context"], 1024);
    assert_eq!(about(model.corpus(), 32, 3)["context"], 32);
    assert_eq!(about(model.corpus(), 32, 3)["vocabulary"][0], 32);
    assert_eq!(about(model.corpus(), 32, 3)["layers"], 3);
}

/// What a graphics card would leave of a text, made from the answer itself.
#[test]
fn what_was_computed_elsewhere_answers_alike() {
    let mut model = model();
    let asked =
        json!({ "run": "", "text": "Anna was", "parts": ["phase", "coupling", "order", "bits", "logits"] });
    let question: Question = parse(asked.to_string().as_bytes()).unwrap();
    let expected = ask(&mut model, &asked);
    let answer = SafeTensors::deserialize(&expected).unwrap();
    let array = |name: &str| floats(answer.tensor(name).unwrap().data());
    let network = model.weights().network();
    let scale: f32 = network.logit_scale(model.weights().parameters());
    let mut values = array("phase");
    for row in array("coupling").chunks(8) {
        values.extend_from_slice(row);
        // Rows are as long as the context, and what lies after the diagonal means nothing.
        values.extend([f32::NAN; 32 - 8]);
    }
    values.extend(array("logits").iter().map(|logit| logit / scale));
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    model.take(&question, &bytes).unwrap();
    let found = ask(&mut model, &asked);
    assert!(apart(&found, &expected) < 1e-6);
    let header = |answer: &[u8]| String::from_utf8_lossy(&answer[8..600]).into_owned();
    assert!(
        header(&found).contains("elsewhere\\\":true") && header(&expected).contains("elsewhere\\\":false")
    );
    // Another text is read as ever, and pulls need gates, which no card leaves.
    let other = json!({ "run": "", "text": "Anna was not" });
    assert!(header(&ask(&mut model, &other)).contains("elsewhere\\\":false"));
    let asked: PullQuestion =
        parse(json!({ "question": asked, "token": 7, "locking": 0.9 }).to_string().as_bytes()).unwrap();
    pulls(&mut model, &asked).unwrap();
    let short = model.take(&question, &bytes[4..]).unwrap_err().to_string();
    assert!(short.contains("where"), "{short}");
}
