//! The page as files.

use kuramoto_engine::Cpu;
use kuramoto_explorer::Site;
use kuramoto_train::{NewRun, Overlay, Session, Setting};
use kuramoto_web::Session as Page;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn trained(folder: &Path, kind: &str) {
    let keys = format!(
        "data.bytes = 60000\nlength = {{ steps = 4 }}\nbatch = {{ sequences = 2, context = 32 }}\n\
         validation = {{ every = 2, windows = 4 }}\nmodel = {{ kind = \"{kind}\", width = 8, layers = 2 }}"
    );
    let overlays = vec![Overlay::parse("test", &keys).unwrap()];
    let new = NewRun { overlays, folder: Some(folder.into()), ..Default::default() };
    Session::create(&new, Setting::new(&Cpu::new(1))).unwrap().train(&mut ()).unwrap();
}

fn json_at(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Names that a script exports.
fn exports(script: &'static str) -> Vec<&'static str> {
    let after = |start: &'static str| script.lines().filter_map(move |line| line.strip_prefix(start));
    let name = |rest: &'static str| rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let kinds = ["export const ", "export function ", "export async function ", "export class "];
    let mut names: Vec<&str> = kinds.into_iter().flat_map(after).map(name).collect();
    names.sort_unstable();
    names
}

#[test]
fn both_back_ends_have_the_same_functions() {
    let (server, module) = (include_str!("../assets/api.js"), include_str!("../assets/wasm.js"));
    assert!(exports(server).contains(&"inspect"));
    assert_eq!(exports(server), exports(module));
}

#[test]
fn a_site_holds_what_the_page_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let (runs, out) = (folder.path().join("runs"), folder.path().join("site"));
    trained(&runs.join("plan/a run"), "kuramoto");
    trained(&runs.join("other"), "transformer");
    trained(&runs.join("enwik8-kuramoto-1m"), "kuramoto");
    let (module, book) = (folder.path().join("module.wasm"), folder.path().join("book"));
    fs::write(&module, b"\0asm").unwrap();
    fs::create_dir(&book).unwrap();
    fs::write(book.join("index.html"), "<head></head><script>1</script><div class=\"right-buttons\"></div>")
        .unwrap();
    let site = Site { folders: vec![runs.clone()], module: module.clone(), book: Some(book) };
    let written = site.write(&out).unwrap();
    assert_eq!(written.runs, 3);

    let page = fs::read_to_string(out.join("index.html")).unwrap();
    for part in ["Content-Security-Policy", "wasm-unsafe-eval", "book/index.html", "article/index.html"] {
        assert!(page.contains(part), "{part}");
    }
    // Everything that scripts import is there, and nothing of the server's token.
    for folder in [out.clone(), out.join("article")] {
        for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let text = fs::read(&entry)
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .unwrap_or_default();
            assert!(!text.contains("Authorization"), "{}", entry.display());
            for import in text.lines().filter_map(|line| line.split_once(" from \".")).map(|(_, rest)| rest) {
                let name = format!(".{}", import.split('"').next().unwrap());
                assert!(folder.join(&name).is_file(), "{} imports {name}", entry.display());
            }
        }
    }
    let article = fs::read_to_string(out.join("article/index.html")).unwrap();
    for part in ["Content-Security-Policy", "../book/index.html", "../book/model.html"] {
        assert!(article.contains(part), "{part}");
    }
    assert!(fs::read_to_string(out.join("article/data/ablations.csv")).unwrap().contains("no-metric-gates"));
    let page = fs::read_to_string(out.join("book/index.html")).unwrap();
    assert!(!page.contains("<script>") && page.contains("\"../article/index.html\""), "{page}");

    let listed = fs::read_to_string(out.join("data/runs.json")).unwrap();
    let place = folder.path().to_string_lossy();
    assert!(listed.contains("plan/a run") && !listed.contains(&*place), "{listed}");
    let about = json_at(&out.join("data/plan/a run/about.json"));
    assert_eq!((&about["context"], &about["last"]), (&json!(32), &json!("step-4")));
    let rows = json_at(&out.join("data/other/rows.json"));
    assert_eq!(rows["steps"].as_array().unwrap().len(), 4);
    assert!(!out.join("data/other/step-4.json").exists(), "a transformer has no phases to look at");

    let file = |ending: &str| fs::read(out.join(format!("data/plan/a run/step-4.{ending}"))).unwrap();
    let mut session = Page::default();
    let mut damaged = file("safetensors");
    *damaged.last_mut().unwrap() ^= 1;
    let refused = session.load(&file("json"), &damaged).unwrap_err().to_string();
    assert!(refused.contains("damaged"), "{refused}");
    let refused = session.load(&file("json"), &damaged[1..]).unwrap_err().to_string();
    assert!(refused.contains("bytes where"), "{refused}");
    session.load(&file("json"), &file("safetensors")).unwrap();

    // What a question may be is tested with the server, which answers by the same code.
    let question = json!({ "run": "plan/a run", "checkpoint": "step-4", "text": "A boat" });
    assert!(session.ask("inspect", question.to_string().as_bytes()).unwrap().len() > 1000);
    let write =
        json!({ "question": question, "bytes": 3, "sampling": { "temperature": 1, "top_p": 1, "seed": 1 } });
    session.begin(7, write.to_string().as_bytes()).unwrap();
    let mut written = 0;
    while session.next(7).unwrap().is_some() {
        written += 1;
    }
    assert_eq!(written, 3);
    for (kind, text, why) in [
        ("inspect", "{}", "missing field"),
        ("inspect", "", "not understood"),
        ("other", "{}", "no question"),
    ] {
        let refused = session.ask(kind, text.as_bytes()).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }

    // Without a book nothing leads to it; without its model there is no article.
    let plain = folder.path().join("plain");
    Site { folders: vec![runs.clone()], module: module.clone(), book: None }.write(&plain).unwrap();
    let article = fs::read_to_string(plain.join("article/index.html")).unwrap();
    assert!(!article.contains("book/") && article.contains("the equations and the code"), "{article}");
    let others = folder.path().join("others");
    Site { folders: vec![runs.join("plan")], module: module.clone(), book: None }.write(&others).unwrap();
    assert!(!others.join("article").exists());
    assert!(!fs::read_to_string(others.join("index.html")).unwrap().contains("article"));

    assert!(site.write(&out).unwrap_err().to_string().contains("is not empty"));
    // What fails leaves nothing behind that keeps the corrected command from working.
    let other = folder.path().join("other site");
    let without = Site { folders: vec![runs.clone()], module: module.clone(), book: Some(other.join("no")) };
    assert!(without.write(&other).unwrap_err().to_string().contains("it is no folder"));
    let checkpoint = runs.join("other/checkpoints/step-4/model.safetensors");
    let weights = runs.join("plan/a run/checkpoints/step-4/model.safetensors");
    let intact = fs::read(&weights).unwrap();
    fs::copy(&checkpoint, &weights).unwrap();
    assert!(site.write(&other).is_err());
    fs::write(&weights, intact).unwrap();
    site.write(&other).unwrap();
    let other = folder.path().join("third site");
    fs::write(&module, b"text").unwrap();
    assert!(site.write(&other).unwrap_err().to_string().contains("not a WebAssembly module"));
}
