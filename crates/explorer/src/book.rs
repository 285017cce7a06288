//! Pages of the book under a strict policy: their inline scripts become files.

use kuramoto_train::hash;

/// Nothing from elsewhere, no inline script. What mdbook writes has a few inline styles.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
     font-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'";

const OPEN: &str = "<script>";
const CLOSE: &str = "</script>";

/// A page without inline scripts, and these by the names it has for them.
pub(crate) fn without_inline_scripts(page: &str) -> (String, Vec<(String, String)>) {
    let mut scripts = Vec::new();
    let mut result = String::with_capacity(page.len());
    let mut rest = page;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (script, after) = after.split_once(CLOSE).unwrap_or((after, ""));
        let name = format!("inline-{}.js", &hash::of(script.as_bytes())[..12]);
        result.push_str(before);
        result.push_str(&format!("<script src=\"{name}\">{CLOSE}"));
        scripts.push((name, script.to_string()));
        rest = after;
    }
    result.push_str(rest);
    let policy = format!("<head>\n<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">");
    (result.replacen("<head>", &policy, 1), scripts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_scripts_become_files() {
        let page =
            "<head><script>let a = 1;</script><script src=\"b.js\"></script></head><script>a = 2;</script>";
        let (page, scripts) = without_inline_scripts(page);
        assert!(
            !page.contains(OPEN) && page.contains("b.js") && page.contains("default-src 'none'"),
            "{page}"
        );
        let texts: Vec<&str> = scripts.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["let a = 1;", "a = 2;"]);
        assert!(scripts.iter().all(|(name, _)| page.contains(&format!("<script src=\"{name}\"></script>"))));
    }
}
