//! The page without a server: a folder of files that any static host serves as it is.
//!
//! `index.html` and what it loads are those of the server, but for `api.js`, in whose place is the module that
//! asks a worker. `data/` holds what the worker fetches: `runs.json`, and in a folder for each run `about.json`,
//! `rows.json` and, of Kuramoto models, every checkpoint as a description and its weights, and `plan.json`,
//! which the reader's graphics card can run. `article/` holds the article, if the model that it speaks of is
//! there.

use crate::assets::{self, Asset};
use crate::book::without_inline_scripts;
use crate::catalogue::{Catalogue, Entry};
use kuramoto_gpu::Page;
use kuramoto_model::ModelConfig;
use kuramoto_train::{Config, Error, Result, Run, Which, checkpoint, disk};
use kuramoto_web::Description;
use serde::Serialize;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What a site is made of.
pub struct Site {
    /// Folders of runs.
    pub folders: Vec<PathBuf>,
    /// The WebAssembly module, built from `crates/web`.
    pub module: PathBuf,
    /// The documentation as HTML, if there is to be some.
    pub book: Option<PathBuf>,
}

/// What was written.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Runs.
    pub runs: usize,
    /// Bytes of all files.
    pub bytes: u64,
}

/// Nothing from elsewhere, no inline script; WebAssembly may be compiled. A host may send it as a header as
/// well; `frame-ancestors` works there alone.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; \
     style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'";

/// The model of the article: `article/article.js`.
const ARTICLE_MODEL: &str = "enwik8-kuramoto-1m";

/// Where mdbook's pages have their tools.
const MENU: &str = "<div class=\"right-buttons\">";

/// The back end in place of `api.js`.
const BACK_END: &str = "wasm.js";

impl Site {
    /// Writes the site to a new folder.
    pub fn write(&self, out: &Path) -> Result<Written> {
        let module = read(&self.module)?;
        if !module.starts_with(b"\0asm") {
            return Err(unusable(
                &self.module,
                "it is not a WebAssembly module: build one with crates/web/site.sh",
            ));
        }
        let catalogue = Catalogue::new(&self.folders);
        let runs = catalogue.list();
        if runs.is_empty() {
            return Err(unusable(
                self.folders.first().map_or(Path::new("."), PathBuf::as_path),
                "it holds no runs: give a folder that does",
            ));
        }
        if let Some(book) = self.book.as_deref().filter(|book| !book.is_dir()) {
            return Err(unusable(book, "it is no folder: build the book first, or leave out --book"));
        }
        let mut files = Files::new(out)?;
        let article = runs.iter().any(|run| run.id == ARTICLE_MODEL);
        for asset in assets::ALL.iter().chain(assets::SITE) {
            self.write_asset(&mut files, asset, article)?;
        }
        for asset in assets::ARTICLE.iter().filter(|_| article) {
            self.write_asset(&mut files, asset, article)?;
        }
        files.write("kuramoto.wasm", &module)?;
        files.write_json("data/runs.json", &runs.iter().map(public).collect::<Vec<_>>())?;
        for entry in &runs {
            write_run(&mut files, &catalogue, entry)?;
        }
        if let Some(book) = &self.book {
            copy_book(&mut files, "book", book, article)?;
        }
        Ok(Written { runs: runs.len(), bytes: files.finish(out)? })
    }

    fn write_asset(&self, files: &mut Files, asset: &Asset, article: bool) -> Result<()> {
        match asset.path {
            "/" => {
                let to_article = article.then_some(("article/index.html", "Article"));
                files.write("index.html", self.page(asset, "", to_article).as_bytes())
            }
            "/article/index.html" => {
                files.write("article/index.html", self.page(asset, "../", None).as_bytes())
            }
            "/api.js" => Ok(()),
            path if path.trim_start_matches('/') == BACK_END => files.write("api.js", asset.bytes),
            path => files.write(path.trim_start_matches('/'), asset.bytes),
        }
    }

    /// A page with its policy, and with links to other parts of the site; `root` is the way to its top.
    fn page(&self, asset: &Asset, root: &str, other: Option<(&str, &str)>) -> String {
        let page = String::from_utf8_lossy(asset.bytes);
        let policy = format!(
            "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">"
        );
        let page = page.replacen("<meta charset=\"utf-8\">", &policy, 1);
        let book = self.book.as_ref().map(|_| ("book/index.html", "Documentation"));
        let link = |(path, title): (&str, &str)| format!("<a href=\"{root}{path}\">{title}</a> ");
        let links: String = other.into_iter().chain(book).map(link).collect();
        let tools = "<span id=\"tools\">";
        let page = page.replacen(tools, &format!("{tools}{links}"), 1);
        if self.book.is_some() { page } else { without_book_links(&page) }
    }
}

/// Where there is no book, what would lead to it is plain text.
fn without_book_links(page: &str) -> String {
    let mut parts = page.split("<a class=\"book\"");
    let mut result = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let text = part.split_once('>').map_or(part, |(_, text)| text);
        result.push_str(&text.replacen("</a>", "", 1));
    }
    result
}

/// A run in the list, without the place of its folder on this machine.
fn public(entry: &Entry) -> Value {
    let mut listed = serde_json::to_value(entry).expect("plain data with text keys");
    listed["run"] = entry.id.as_str().into();
    listed
}

fn write_run(files: &mut Files, catalogue: &Catalogue, entry: &Entry) -> Result<()> {
    let folder = format!("data/{}", entry.id);
    files.write_json(&format!("{folder}/rows.json"), &catalogue.all_rows(&entry.id))?;
    let Some(run) = catalogue.open(&entry.id).transpose()? else { return Ok(()) };
    let named = |which: Which| run.step(which).map(|step| format!("step-{step}"));
    let mut about =
        kuramoto_answer::about(run.corpus(), run.config().batch.context, run.config().model.layers());
    about["best"] = named(Which::Best).into();
    about["last"] = named(Which::Last).into();
    let plan = card_plan(run.config());
    about["card"] = plan.is_some().into();
    files.write_json(&format!("{folder}/about.json"), &about)?;
    if let Some(plan) = plan {
        files.write_json(&format!("{folder}/plan.json"), &plan)?;
    }
    // Only Kuramoto models have phases.
    let ModelConfig::Kuramoto(model) = &run.config().model else { return Ok(()) };
    for &step in &entry.checkpoints {
        write_checkpoint(files, &format!("{folder}/step-{step}"), &entry.id, &run, model, step)?;
    }
    Ok(())
}

/// What the reader's graphics card would run. Values that drift are not among what it leaves of a text.
fn card_plan(config: &Config) -> Option<Page> {
    match &config.model {
        ModelConfig::Kuramoto(model) if !model.drift_in_values => Page::new(model, config.batch.context).ok(),
        _ => None,
    }
}

/// A checkpoint, whose manifest proves it, as a description and its weights.
fn write_checkpoint(
    files: &mut Files,
    path: &str,
    id: &str,
    run: &Run,
    model: &kuramoto_model::KuramotoConfig,
    step: u64,
) -> Result<()> {
    let folder = checkpoint::folder(run.folder(), step);
    let sha256 = checkpoint::verify(&folder, run)?;
    let weights = read(&folder.join("model.safetensors"))?;
    let description = Description {
        run: id.into(),
        step,
        model: model.clone(),
        context: run.config().batch.context,
        corpus: run.corpus().clone(),
        bytes: weights.len(),
        sha256,
    };
    files.write_json(&format!("{path}.json"), &description)?;
    files.write(&format!("{path}.safetensors"), &weights)
}

/// Files of a site, in a temporary folder inside its own until all are written, and how much they hold.
struct Files {
    root: TempDir,
    bytes: u64,
}

impl Files {
    /// For a folder that is new or empty: what else is there would be served too.
    fn new(out: &Path) -> Result<Files> {
        let refuse = |cause| Error::Io { action: "create", path: out.into(), cause };
        fs::create_dir_all(out).map_err(refuse)?;
        if fs::read_dir(out).map_err(refuse)?.next().is_some() {
            return Err(unusable(out, "it is not empty: give a new folder, or remove this one"));
        }
        Ok(Files { root: tempfile::tempdir_in(out).map_err(refuse)?, bytes: 0 })
    }

    /// Puts the files in their place; returns how many bytes they hold.
    fn finish(self, out: &Path) -> Result<u64> {
        let move_all = || {
            for entry in fs::read_dir(self.root.path())? {
                let entry = entry?;
                fs::rename(entry.path(), out.join(entry.file_name()))?;
            }
            Ok(())
        };
        move_all().map_err(|cause| Error::Io { action: "write", path: out.into(), cause })?;
        Ok(self.bytes)
    }

    fn write(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        let path = self.root.path().join(path);
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(self.root.path()))?;
            fs::write(&path, bytes)
        };
        // Pages of the book share scripts.
        let new = !path.exists();
        write().map_err(|cause| Error::Io { action: "write", path: path.clone(), cause })?;
        self.bytes += if new { bytes.len() as u64 } else { 0 };
        Ok(())
    }

    fn write_json(&mut self, path: &str, value: &impl Serialize) -> Result<()> {
        self.write(path, &serde_json::to_vec(value).expect("plain data with text keys"))
    }
}

/// A folder of the book with everything in it; its pages lead to the article if there is one.
fn copy_book(files: &mut Files, to: &str, folder: &Path, article: bool) -> Result<()> {
    let refuse = |cause| Error::Io { action: "read", path: folder.into(), cause };
    for entry in fs::read_dir(folder).map_err(refuse)? {
        let entry = entry.map_err(refuse)?;
        let path = format!("{to}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().map_err(refuse)?.is_dir() {
            copy_book(files, &path, &entry.path(), article)?;
            continue;
        }
        let bytes = read(&entry.path())?;
        if !path.ends_with(".html") {
            files.write(&path, &bytes)?;
            continue;
        }
        let (mut page, scripts) = without_inline_scripts(&String::from_utf8_lossy(&bytes));
        if article {
            let root = "../".repeat(to.split('/').count());
            let link = format!("{MENU}<a href=\"{root}article/index.html\">Article</a> ");
            page = page.replacen(MENU, &link, 1);
        }
        files.write(&path, page.as_bytes())?;
        for (name, script) in scripts {
            files.write(&format!("{to}/{name}"), script.as_bytes())?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    disk::read(path).map_err(|cause| Error::Io { action: "read", path: path.into(), cause })
}

fn unusable(path: &Path, why: &str) -> Error {
    Error::Run { path: path.into(), why: why.into() }
}
