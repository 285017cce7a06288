//! Corpora from files of every kind, their cache, and what is said when they are not right.

use kuramoto_train::data::{codeparrot, download, source::ENWIK8_SHA256};
use kuramoto_train::windows::{self, Window};
use kuramoto_train::{Corpus, Error, Source, Split};
use proptest::prelude::*;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;

fn open(corpus: &Path, bytes: usize, cache: &Path) -> Result<Corpus, Error> {
    Corpus::open(&Source::find(corpus.to_str().unwrap(), "", bytes)?, cache)
}

fn message(result: Result<Corpus, Error>) -> String {
    result.err().expect("this must be refused").to_string()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut out = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn zip(bytes: &[u8]) -> Vec<u8> {
    let mut out = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    out.start_file("text", zip::write::SimpleFileOptions::default()).unwrap();
    out.write_all(bytes).unwrap();
    out.finish().unwrap().into_inner()
}

#[test]
fn a_file_plain_or_compressed_is_the_same_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let text: Vec<u8> = (0..50_000u32).map(|i| (i * i % 251) as u8).collect();
    for (name, bytes) in
        [("a.bin", text.clone()), ("a.gz", gzip(&text)), ("a.xz", xz(&text)), ("a.zip", zip(&text))]
    {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let corpus = open(&path, 0, &cache).unwrap();
        assert_eq!(corpus.bytes(), text, "{name}");
        assert_eq!(corpus.identity().sha256, kuramoto_train::hash::of(&text));
        let mut distinct = text.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(corpus.identity().vocabulary, distinct);
    }
    let cut = open(&folder.path().join("a.xz"), 1000, &cache).unwrap();
    assert_eq!(cut.bytes(), &text[..1000]);
}

#[test]
fn a_folder_is_its_files_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("texts");
    fs::create_dir_all(root.join("b")).unwrap();
    for (name, text) in [("c.txt", "three"), ("b/z.txt", "two "), ("a.txt", "one "), (".hidden", "never")] {
        fs::write(root.join(name), text).unwrap();
    }
    let corpus = open(&root, 0, &folder.path().join("cache")).unwrap();
    assert_eq!(corpus.bytes(), b"one two three");
    assert_eq!(corpus.identity().name, "texts");
    fs::write(root.join("a.txt"), "ONE ").unwrap();
    assert_eq!(
        open(&root, 0, &folder.path().join("cache")).unwrap().bytes(),
        b"ONE two three",
        "a change is noticed"
    );
}

#[test]
fn splits_are_by_position_and_windows_read_tokens() {
    assert_eq!(Split::Train.range(100_000_000), 0..90_000_000);
    assert_eq!(Split::Validation.range(100_000_000), 90_000_000..95_000_000);
    assert_eq!(Split::Test.range(100_000_000), 95_000_000..100_000_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    fs::write(&path, "banana").unwrap();
    let corpus = open(&path, 0, folder.path()).unwrap();
    let (mut tokens, mut targets) = ([9; 4], [9; 4]);
    corpus.read(Window { start: 1, len: 4 }, &mut tokens, &mut targets);
    assert_eq!((tokens, targets), ([0, 2, 0, 2], [2, 0, 2, 0]));
}

#[test]
fn shards_follow_the_documented_rule() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [
        r#"{"repo_name":"a\/b","content":"x = 1\n","hash":"abc","copies":"1"}"#,
        r#"{"content":"y = '\u00e9'","hash":-5573}"#,
    ];
    fs::write(folder.path().join("file-000000000002.json.gz"), gzip(b"{\"content\":\"last\"}\n\n")).unwrap();
    fs::write(folder.path().join("file-000000000001.json.gz"), gzip(rows.join("\n").as_bytes())).unwrap();
    fs::write(folder.path().join("LICENSES.txt"), "not a shard").unwrap();
    let cache = folder.path().join("cache");
    let corpus = open(folder.path(), 0, &cache).unwrap();
    assert_eq!(corpus.bytes(), "x = 1\ny = 'é'\nlast\n".as_bytes());
    assert_eq!(open(folder.path(), 8, &cache).unwrap().bytes(), b"x = 1\ny ");
    let named = Source::find("codeparrot", folder.path().to_str().unwrap(), 0).unwrap();
    assert_eq!(Corpus::open(&named, &cache).unwrap().bytes().len(), 20);
}

/// A folder of shards that hold this text.
fn shards(folder: &Path, text: &str) -> Source {
    fs::create_dir_all(folder).unwrap();
    let row = serde_json::json!({ "content": text }).to_string();
    fs::write(folder.join("file-000000000001.json.gz"), gzip(row.as_bytes())).unwrap();
    Source::find("codeparrot", folder.to_str().unwrap(), 0).unwrap()
}

/// The name of the paper's corpus is for a text that has its length and its distinct bytes.
#[test]
fn only_the_papers_text_is_called_codeparrot() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    for (place, name) in [
        ("mine", "mine"),
        ("codeparrot", "codeparrot-other"),
        ("enwik8", "enwik8-other"),
        ("tales", "tales-other"),
    ] {
        let source = shards(&folder.path().join(place), "x = 1");
        let corpus = Corpus::open(&source, &cache).unwrap();
        assert_eq!(corpus.identity().name, name);
        let why = source.why_renamed(corpus.identity()).unwrap();
        for part in ["6 bytes with 5 distinct values", "has 100000000 with 201", &format!("the name {name},")]
        {
            assert!(why.contains(part) && !why.contains('\n'), "{why}");
        }
        let path = folder.path().join(place);
        assert_eq!(open(&path, 0, &cache).unwrap().identity().name, name, "by its path alone");
        for (bytes, distinct, is_papers) in
            [(100_000_000, 201, true), (100_000_000, 204, false), (99_999_999, 201, false)]
        {
            assert_eq!(source.name(bytes, distinct) == "codeparrot", is_papers, "{bytes}, {distinct}");
        }
    }
    // Neither does the name of a file or folder of text make it the paper's.
    let plain = folder.path().join("plain/codeparrot");
    fs::create_dir_all(&plain).unwrap();
    fs::write(plain.join("a.py"), "y = 2").unwrap();
    assert_eq!(open(&plain, 0, &cache).unwrap().identity().name, "codeparrot-other");
    let text = folder.path().join("mine.txt");
    fs::write(&text, "z").unwrap();
    let source = Source::find(text.to_str().unwrap(), "", 0).unwrap();
    assert_eq!(source.why_renamed(open(&text, 0, &cache).unwrap().identity()), None);
}

/// What an earlier version prepared is found again, and not believed in its name.
#[test]
fn caches_of_earlier_versions_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let source = shards(&folder.path().join("mine"), "x = 1");
    let sha256 = Corpus::open(&source, &cache).unwrap().identity().sha256.clone();
    let prepared = fs::read_dir(&cache).unwrap().next().unwrap().unwrap().path();
    assert!(prepared.file_name().unwrap().to_str().unwrap().starts_with("codeparrot-"), "{prepared:?}");
    let description = fs::read_to_string(prepared.join("corpus.json")).unwrap();
    let old = description.replace("\"mine\"", "\"codeparrot\"");
    assert_ne!(old, description);
    fs::write(prepared.join("corpus.json"), &old).unwrap();
    assert_eq!(Corpus::open(&source, &cache).unwrap().identity().name, "mine");
    assert_eq!(Corpus::prepared(&sha256, &cache).unwrap().identity().name, "codeparrot-other");
    assert_eq!(Corpus::look_up(&sha256, &cache).unwrap().name, "codeparrot-other");
    assert_eq!(Corpus::look_up("other", &cache), None);
    assert_eq!(fs::read_to_string(prepared.join("corpus.json")).unwrap(), old, "and left as it is");
}

#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let path = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    };
    assert!(
        message(open(Path::new("nowhere"), 0, &cache)).contains("name tales, enwik8, codeparrot, or a file")
    );
    assert!(message(open(&path("empty", b""), 0, &cache)).contains("empty"));
    assert!(message(open(&path("bad.gz", b"not gzip"), 0, &cache)).contains("bad.gz"));
    assert!(message(open(&path("bad.xz", b"not xz at all"), 0, &cache)).contains("bad.xz"));
    assert!(message(open(&path("bad.zip", b"not zip"), 0, &cache)).contains("zip"));
    let whole = gzip(&vec![7; 100_000]);
    assert!(message(open(&path("cut.gz", &whole[..whole.len() / 2]), 0, &cache)).contains("cut.gz"));
    let shard = path("shards/file-1.json.gz", &gzip(b"{\"content\":\"a\"}\n{\"text\":1}\n"));
    assert!(message(open(&shard, 0, &cache)).contains("line 2"), "a folder or one shard");
    let wrong = message(open(&path("enwik8", b"this is not Wikipedia"), 0, &cache));
    assert!(wrong.contains(ENWIK8_SHA256) && wrong.contains("21 bytes"), "{wrong}");
    assert!(message(Corpus::open(&Source::Enwik8(None), &cache)).contains("--download"));
    let left: Vec<_> = fs::read_dir(&cache).into_iter().flatten().collect();
    assert!(left.is_empty(), "nothing half prepared is left behind: {left:?}");
    let unnamed = Source::find("", "", 0).err().unwrap();
    assert!(unnamed.to_string().starts_with("data.corpus = \"\""), "{unnamed}");
}

#[test]
fn a_changed_or_truncated_cache_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, cache) = (folder.path().join("text"), folder.path().join("cache"));
    fs::write(&path, "some text to learn from").unwrap();
    open(&path, 0, &cache).unwrap();
    let bytes = fs::read_dir(&cache).unwrap().next().unwrap().unwrap().path().join("bytes");
    fs::write(&bytes, "some text to learn FROM").unwrap();
    assert!(message(open(&path, 0, &cache)).contains("not those that were prepared"));
    fs::write(&bytes, "some text").unwrap();
    assert!(message(open(&path, 0, &cache)).contains("9 bytes, but 23 were prepared"));
}

/// What happens to the file of a corpus that is open does not matter: its bytes were proven.
#[test]
fn a_corpus_that_is_truncated_while_it_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let (path, cache) = (folder.path().join("text"), folder.path().join("cache"));
    let text: Vec<u8> = (0..100_000u32).map(|i| b'a' + (i % 23) as u8).collect();
    fs::write(&path, &text).unwrap();
    let corpus = open(&path, 0, &cache).unwrap();
    let bytes = fs::read_dir(&cache).unwrap().next().unwrap().unwrap().path().join("bytes");
    fs::File::options().write(true).open(&bytes).unwrap().set_len(10).unwrap();
    assert_eq!(corpus.bytes(), text);
}

/// A file of enwik8 that is no such thing is named, wherever it was found, with what to do about it.
#[test]
fn a_bad_file_of_enwik8_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let whole = zip(&vec![7; 100_000]);
    for (name, bytes) in [
        ("enwik8.zip", b"not a zip".to_vec()),
        ("enwik8.zip", whole[..whole.len() / 2].to_vec()),
        ("enwik8.zip", whole),
        ("enwik8.gz", b"not gzip".to_vec()),
        ("enwik8.xz", b"not xz at all".to_vec()),
        ("enwik8", b"too short".to_vec()),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let said = message(Corpus::open(&Source::Enwik8(Some(path.clone())), &cache));
        assert!(said.starts_with(&path.display().to_string()), "{said}");
        assert!(
            said.contains("remove it and get it anew from http") && said.contains("--download"),
            "{said}"
        );
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 0, "nothing half prepared stays");
    }
}

/// What processes left that died while they prepared or fetched a corpus goes; what others work on stays.
#[test]
fn abandoned_preparations_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, cache) = (folder.path().join("text"), folder.path().join("cache"));
    fs::write(&path, "some text to learn from").unwrap();
    for name in [".dead.partial-1", ".alive.partial-2"] {
        fs::create_dir_all(cache.join(name)).unwrap();
        fs::write(cache.join(name).join("bytes"), "half").unwrap();
    }
    fs::write(cache.join(".enwik8.zip.partial-3"), "half").unwrap();
    fs::write(cache.join(".mine"), "not ours").unwrap();
    let alive = fs::File::open(cache.join(".alive.partial-2/bytes")).unwrap();
    alive.lock().unwrap();
    open(&path, 0, &cache).unwrap();
    let mut left: Vec<_> = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.retain(|name| name.to_string_lossy().starts_with('.'));
    left.sort();
    assert_eq!(left, [".alive.partial-2", ".mine"]);
}

#[test]
fn the_floor_of_windows_is_their_code_length() {
    let corpus = Corpus::open(&Source::find("tales", "", 100_000).unwrap(), Path::new("unused")).unwrap();
    let range = corpus.split(Split::Validation);
    let (all, sample) = (windows::all(range.clone(), 64), windows::sample(range, 64, 20));
    let (all, sample) = (corpus.floor(&all).unwrap(), corpus.floor(&sample).unwrap());
    assert!((0.3..0.9).contains(&all) && (all - sample).abs() < 0.2, "{all} {sample}");
}

#[test]
fn a_download_is_whole_or_not_there() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/dc/enwik8.zip", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        // First a connection that breaks off, then a whole answer.
        for whole in [false, true] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).unwrap();
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n01234")
                .unwrap();
            if whole {
                stream.write_all(b"56789").unwrap();
            }
        }
    });
    let folder = tempfile::tempdir().unwrap();
    assert!(download(&address, folder.path()).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let path = download(&address, folder.path()).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"0123456789");
    server.join().unwrap();
    assert_eq!(download(&address, folder.path()).unwrap(), path, "what is there is not fetched again");
}

proptest! {
    #[test]
    fn any_line_of_a_shard_is_text_or_an_error(line in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(text) = codeparrot::content(&line) {
            prop_assert!(text.ends_with('\n'));
        }
    }

    #[test]
    fn any_content_comes_back(text: String, hash: i64) {
        let line = serde_json::json!({ "content": text, "hash": hash }).to_string();
        let content = codeparrot::content(line.as_bytes()).unwrap();
        prop_assert!(content == text || content == text.clone() + "\n");
    }
}

/// A small shard may unpack to a line that does not fit in memory.
#[test]
fn a_line_without_end_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut shard = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    shard.write_all(b"{\"content\": \"").unwrap();
    (0..65).for_each(|_| shard.write_all(&vec![b'a'; 1 << 20]).unwrap());
    shard.write_all(b"\"}\n").unwrap();
    fs::write(folder.path().join("file-000000000001.json.gz"), shard.finish().unwrap()).unwrap();
    let error = message(open(folder.path(), 0, &folder.path().join("cache")));
    assert!(error.contains("line 1 is longer than 64 MB"), "{error}");
}
