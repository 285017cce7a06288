//! What the page's module is compared with: the same answers by the program itself, from the files of a site.
//!
//! usage: native SITE RUN CHECKPOINT QUESTION OUT
//!
//! Writes the answer to QUESTION (JSON) to OUT, computed without AVX, and prints its speed on one thread with all
//! that this machine has, as JSON: milliseconds for the text, bytes generated a second, the best of some tries.

use kuramoto_kernels::arch::{Level, detect, limit};
use kuramoto_web::Session;
use serde_json::{Value, json};
use std::error::Error;
use std::fs;
use std::time::Instant;

fn loaded(site: &str, run: &str, checkpoint: &str) -> Result<Session, Box<dyn Error>> {
    let file = |ending: &str| fs::read(format!("{site}/data/{run}/{checkpoint}.{ending}"));
    let mut session = Session::default();
    session.load(&file("json")?, &file("safetensors")?)?;
    Ok(session)
}

#[expect(clippy::print_stdout, reason = "an example prints what it measures")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [site, run, checkpoint, question, out] = arguments.as_slice() else {
        return Err("usage: native SITE RUN CHECKPOINT QUESTION OUT".into());
    };
    limit(Level::Portable);
    fs::write(out, loaded(site, run, checkpoint)?.ask("inspect", question.as_bytes())?)?;

    limit(detect());
    let mut session = loaded(site, run, checkpoint)?;
    let mut milliseconds: Vec<f64> = Vec::new();
    let question: Value = serde_json::from_str(question)?;
    let text = question["text"].as_str().ok_or("the question has no text")?;
    for first in ('A'..='Z').cycle().take(40) {
        // Another first byte, because what a text shares with the last one is not computed again.
        let mut question = question.clone();
        question["text"] = format!("{first}{}", &text[1..]).into();
        let question = question.to_string();
        let started = Instant::now();
        session.ask("inspect", question.as_bytes())?;
        milliseconds.push(1e3 * started.elapsed().as_secs_f64());
    }
    let mut short = question.clone();
    short["text"] = "The ".into();
    let mut speeds: Vec<f64> = Vec::new();
    for seed in 1..=3 {
        let sampling = json!({ "temperature": 1, "top_p": 1, "seed": seed });
        let write = json!({ "question": short, "bytes": 200, "sampling": sampling });
        session.begin(0, write.to_string().as_bytes())?;
        let (started, mut bytes) = (Instant::now(), 0);
        while session.next(0)?.is_some() {
            bytes += 1;
        }
        speeds.push(f64::from(bytes) / started.elapsed().as_secs_f64());
    }
    let fastest = milliseconds.iter().copied().fold(f64::INFINITY, f64::min);
    let speed = speeds.iter().copied().fold(0.0, f64::max);
    println!("{}", json!({ "milliseconds": fastest, "bytes_per_second": speed }));
    Ok(())
}
