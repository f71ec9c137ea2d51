//! Whether the API server believes the servers, and for how long.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_serve::certificates::CertificateKeys;

use super::finding::Findings;
use super::view::{View, text};

const DAY: i64 = 24 * 60 * 60;

pub(super) fn check(view: &View, findings: &mut Findings) {
    let bundles = bundles(view);
    if bundles.is_empty() {
        return;
    }
    if bundles.iter().any(String::is_empty) {
        let why = "a webhook has no caBundle, so that the API server believes nobody";
        findings.bad(
            "certificates",
            why,
            "see the log of the servers; with cert-manager, that of its injector",
        );
    }
    let mut distinct = bundles;
    distinct.sort();
    distinct.dedup();
    if distinct.len() > 1 {
        let why = format!("the webhooks carry {} different bundles", distinct.len());
        findings.warn("certificates", why, "a running server puts it right within 5 s");
    }
    for ends in distinct.iter().filter_map(|bundle| CertificateKeys::ends(bundle).into_iter().max()) {
        lasting(view, "authority", ends, findings);
    }
    let has_folder = !view.flag("tls-dir").is_empty();
    match &view.secret {
        _ if has_folder => findings.ok("certificates", "somebody else keeps the certificates (--tls-dir)"),
        Err(error) => findings.unseen("certificates", error),
        Ok(None) => findings.bad(
            "certificates",
            format!("there is no Secret `{}-tls`", view.name),
            "a running server makes it anew within 5 s",
        ),
        Ok(Some(secret)) => {
            let keys = CertificateKeys::of(secret);
            match keys.served() {
                Ok((_, ends)) => lasting(view, "certificate", ends, findings),
                Err(error) => {
                    findings.bad("certificates", error, "delete the Secret: a running server makes it anew");
                }
            }
            let trusted =
                |bundle: &String| keys.bundle().split_inclusive(END).all(|one| bundle.contains(one.trim()));
            if distinct.iter().all(trusted) {
                findings.ok("bundle", "the API server believes the authority that signs for the servers");
            } else {
                let why = "the API server is not told to believe the authority of the Secret";
                findings.bad("bundle", why, "a running server puts it right within 5 s; see its log");
            }
        }
    }
}

const END: &str = "-----END CERTIFICATE-----";

fn bundles(view: &View) -> Vec<String> {
    let encoded =
        view.webhooks().into_iter().map(|(_, webhook)| text(webhook, &["clientConfig", "caBundle"]));
    let decoded = encoded.map(|encoded| STANDARD.decode(encoded).unwrap_or_default());
    decoded.map(|bytes| String::from_utf8(bytes).unwrap_or_default()).collect()
}

fn lasting(view: &View, what: &'static str, ends: i64, findings: &mut Findings) {
    let left = ends.saturating_sub(view.now);
    let renew = "it should have been renewed at two thirds of its life: see the log of the servers";
    match left {
        ..=0 => findings.bad(what, format!("ended {} days ago", -left / DAY), renew),
        left if left < DAY => findings.warn(what, format!("ends in {} hours", left / 3600), renew),
        left => findings.ok(what, format!("ends in {} days", left / DAY)),
    }
}
