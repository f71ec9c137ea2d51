//! The headers of every response.

use hyper::HeaderMap;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};

/// For files whose names say their content.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// Adds the headers that no response lacks. `nonce` is that of the start page, which is the only one with styles of its own.
pub(crate) fn add_security_headers(headers: &mut HeaderMap, nonce: Option<&str>, is_immutable: bool) {
    let fixed = [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("x-frame-options"), "DENY"),
        (CACHE_CONTROL, if is_immutable { IMMUTABLE } else { "no-store" }),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let policy = nonce.map_or_else(String::new, |nonce| format!(" 'nonce-{nonce}'"));
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'{policy}; connect-src 'self'; \
         img-src 'self' data: blob:; font-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
    );
    if let Ok(value) = HeaderValue::from_str(&policy) {
        headers.insert(CONTENT_SECURITY_POLICY, value);
    }
}
