//! The files of the page, embedded in the program. They have no data of the user.
//!
//! The page has no build step: browsers get these modules as they are. Everything that a session
//! contains comes through the API, as text or as markup of [`crate::view`].

use std::collections::BTreeMap;
use std::sync::LazyLock;

use pi_session::ENTRY_STYLE;
use sha2::{Digest, Sha256};

/// The content security policy of the page: nothing from elsewhere, no inline script or style.
pub const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// A file of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// The value of `ETag`, with its quotes. It changes with the content.
    pub etag: &'static str,
    /// The content.
    pub body: &'static [u8],
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// The names of the files, with types and contents. The first one is the page itself.
const FILES: &[(&str, &str, &str)] = &[
    ("", HTML, include_str!("page/index.html")),
    ("app.css", CSS, include_str!("page/app.css")),
    ("screens.css", CSS, include_str!("page/screens.css")),
    // The style of the exported page, so that a session looks the same in both.
    ("entries.css", CSS, ENTRY_STYLE),
    ("api.js", JS, include_str!("page/api.js")),
    ("complete.js", JS, include_str!("page/complete.js")),
    ("composer.js", JS, include_str!("page/composer.js")),
    ("dom.js", JS, include_str!("page/dom.js")),
    ("format.js", JS, include_str!("page/format.js")),
    ("link.js", JS, include_str!("page/link.js")),
    ("live.js", JS, include_str!("page/live.js")),
    ("main.js", JS, include_str!("page/main.js")),
    ("needs.js", JS, include_str!("page/needs.js")),
    ("pickers.js", JS, include_str!("page/pickers.js")),
    ("review.js", JS, include_str!("page/review.js")),
    ("runs.js", JS, include_str!("page/runs.js")),
    ("session.js", JS, include_str!("page/session.js")),
    ("sessions.js", JS, include_str!("page/sessions.js")),
    ("settings.js", JS, include_str!("page/settings.js")),
    ("theme.js", JS, include_str!("page/theme.js")),
    ("transcript.js", JS, include_str!("page/transcript.js")),
    ("tree.js", JS, include_str!("page/tree.js")),
];

static ASSETS: LazyLock<BTreeMap<&'static str, Asset>> = LazyLock::new(|| {
    let asset = |(name, content_type, text): &(&'static str, &'static str, &'static str)| {
        let etag: &'static str = Box::leak(etag_of(text).into_boxed_str());
        (*name, Asset { content_type, etag, body: text.as_bytes() })
    };
    FILES.iter().map(asset).collect()
});

/// Returns a file of the page by its name; the page itself has the empty name.
pub fn asset(name: &str) -> Option<Asset> {
    ASSETS.get(name).copied()
}

fn etag_of(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let hex: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_that_is_imported_is_a_file_of_the_page() {
        for (name, content_type, text) in FILES {
            if *content_type != JS {
                continue;
            }
            let parts: Vec<&str> = text.split("from \"./").skip(1).collect();
            for part in parts {
                let imported = part.split('"').next().unwrap_or_default();
                assert!(asset(imported).is_some(), "{name} imports {imported}");
            }
        }
    }

    #[test]
    fn the_page_has_neither_inline_code_nor_addresses_elsewhere() {
        for (name, content_type, text) in FILES {
            let namespace = "http://www.w3.org/2000/svg";
            let text = text.replace(namespace, "");
            assert!(!text.contains("http://") && !text.contains("https://"), "{name}");
            assert!(!text.contains("eval("), "{name}");
            let sinks = ["outerHTML", "insertAdjacentHTML", "document.write"];
            assert!(!sinks.iter().any(|sink| text.contains(sink)), "{name}");
            let markup = text.matches("innerHTML").count();
            assert_eq!(markup, usize::from(*name == "dom.js"), "{name}");
            if *content_type == HTML {
                assert!(!text.contains(" style=") && !text.contains(" on"), "{name}");
                assert!(!text.contains("<style") && !text.contains("<script>"), "{name}");
            }
        }
    }

    #[test]
    fn a_changed_file_has_another_etag() {
        assert_ne!(etag_of("a"), etag_of("b"));
        let page = asset("").unwrap();
        assert!(page.etag.starts_with('"') && page.etag.ends_with('"') && page.etag.len() == 26);
        assert!(asset("../lib.rs").is_none());
    }
}
