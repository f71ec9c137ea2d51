//! The files of the page, which are part of the program.
//!
//! The start page has a nonce in it, and what it shows first. All others are compressed, and their names have a hash of the content in
//! them, so that a browser may keep them for ever.

use std::io::Read as _;

use bytes::Bytes;
use flate2::read::GzDecoder;

/// The start page, and the compressed assets as `assets/NAME.gz`, sorted.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// What stands in `index.html` where the nonce of the content security policy belongs.
const NONCE_MARK: &str = "{{nonce}}";

/// What stands in `index.html` where the answer of `/start` belongs.
const START_MARK: &str = "{{start}}";

/// The maximum size of a file that is decompressed for a client that cannot do it.
const MAX_ASSET_BYTES: u64 = 16 << 20;

/// A file of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageAsset {
    pub(crate) content_type: &'static str,
    pub(crate) body: Bytes,
    pub(crate) is_compressed: bool,
    /// Whether the name says the content.
    pub(crate) is_immutable: bool,
}

/// Returns the start page with `nonce` and the JSON text `start` in it. Where `start` is empty, the page asks for it.
pub(crate) fn start_page(nonce: &str, start: &str) -> Option<PageAsset> {
    let page = find_asset("index.html", false)?;
    // The nonce comes first: it must not get into texts of other people.
    let text = String::from_utf8_lossy(&page.body).replace(NONCE_MARK, nonce);
    let text = text.replacen(START_MARK, &json_in_html(start), 1);
    Some(PageAsset { body: text.into(), ..page })
}

/// Returns a JSON text that cannot end the element that it stands in. In JSON, `<` is only in strings.
fn json_in_html(text: &str) -> String {
    text.replace('<', "\\u003c")
}

/// Returns the file called `name`, compressed if it is so here and `accepts_gzip`.
pub(crate) fn find_asset(name: &str, accepts_gzip: bool) -> Option<PageAsset> {
    let content_type = content_type(name);
    if let Some(bytes) = embedded(name) {
        let body = Bytes::from_static(bytes);
        return Some(PageAsset { content_type, body, is_compressed: false, is_immutable: false });
    }
    let bytes = embedded(&format!("{name}.gz"))?;
    let body = if accepts_gzip { Bytes::from_static(bytes) } else { decompress(bytes)? };
    Some(PageAsset { content_type, body, is_compressed: accepts_gzip, is_immutable: true })
}

fn embedded(name: &str) -> Option<&'static [u8]> {
    let at = FILES.binary_search_by_key(&name, |(known, _)| known).ok()?;
    FILES.get(at).map(|(_, bytes)| *bytes)
}

fn decompress(bytes: &[u8]) -> Option<Bytes> {
    let mut plain = Vec::new();
    GzDecoder::new(bytes).take(MAX_ASSET_BYTES).read_to_end(&mut plain).ok()?;
    Some(plain.into())
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::{FILES, NONCE_MARK, START_MARK, find_asset, start_page};

    fn page_text(start: &str) -> String {
        let page = start_page("abc123", start).expect("there is a page");
        String::from_utf8(page.body.to_vec()).expect("text")
    }

    #[test]
    fn the_start_page_has_the_nonce_and_no_inline_script() {
        let text = page_text("");
        assert!(text.contains("abc123") && !text.contains(NONCE_MARK), "{text}");
        assert!(text.contains("id=\"start\"></script>"), "{text}");
        assert!(
            !text.contains("<script>") && !text.contains(" style=") && !text.contains(" onclick="),
            "{text}"
        );
    }

    #[test]
    fn texts_of_the_start_cannot_leave_their_element_or_have_the_nonce() {
        let text = page_text(r#"{"title": "</script><!--<script>{{nonce}}{{start}}"}"#);
        let block = r#"{"title": "\u003c/script>\u003c!--\u003cscript>{{nonce}}{{start}}"}</script>"#;
        assert!(text.contains(block), "{text}");
        assert_eq!(text.matches(START_MARK).count(), 1, "{text}");
    }

    #[test]
    fn every_asset_can_be_had_without_compression() {
        for (name, bytes) in FILES {
            let name = name.strip_suffix(".gz").unwrap_or(name);
            let plain = find_asset(name, false).expect("an asset");
            assert!(!plain.is_compressed && plain.body.len() >= bytes.len().min(64), "{name}");
            assert_ne!(plain.content_type, "application/octet-stream", "{name}");
        }
    }

    #[test]
    fn all_assets_together_have_at_most_250_kilobytes() {
        let all: usize = FILES.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(all <= 250_000, "{all} bytes");
    }
}
