//! Whether the API server trusts the certificates of the servers, and for how long.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_report::text::plural;
use kubewright_serve::certificates::CertificateKeys;

use super::finding::DoctorFindings;
use super::view::{ClusterView, view_text};

const DAY_SECONDS: i64 = 24 * 60 * 60;

pub(super) fn check_certificates(view: &ClusterView, findings: &mut DoctorFindings) {
    let bundles = bundles(view);
    if bundles.is_empty() {
        return;
    }
    if bundles.iter().any(String::is_empty) {
        let why = "a webhook has no caBundle, so the API server cannot verify the servers";
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
        let why = format!("the webhooks have {} different CA bundles", distinct.len());
        findings.warn("certificates", why, "a running server repairs it within 5 s");
    }
    for ends in distinct.iter().filter_map(|bundle| CertificateKeys::ends(bundle).into_iter().max()) {
        check_expiry(view, "authority", ends, findings);
    }
    let has_folder = !view.flag("tls-dir").is_empty();
    match &view.secret {
        _ if has_folder => {
            findings.ok("certificates", "certificates are managed outside of kubewright (--tls-dir)");
        }
        Err(error) => findings.unseen("certificates", error),
        Ok(None) => findings.bad(
            "certificates",
            format!("there is no Secret `{}-tls`", view.name),
            "a running server creates it again within 5 s",
        ),
        Ok(Some(secret)) => {
            let keys = CertificateKeys::of(secret);
            match keys.served() {
                Ok((_, ends)) => check_expiry(view, "certificate", ends, findings),
                Err(error) => {
                    findings.bad(
                        "certificates",
                        error,
                        "delete the Secret: a running server creates it again",
                    );
                }
            }
            let trusted =
                |bundle: &String| keys.bundle().split_inclusive(END).all(|one| bundle.contains(one.trim()));
            if distinct.iter().all(trusted) {
                findings.ok("bundle", "the API server trusts the CA of the servers");
            } else {
                let why = "the webhooks do not contain the CA of the Secret";
                findings.bad("bundle", why, "a running server repairs it within 5 s; see its log");
            }
        }
    }
}

const END: &str = "-----END CERTIFICATE-----";

fn bundles(view: &ClusterView) -> Vec<String> {
    let encoded =
        view.webhooks().into_iter().map(|(_, webhook)| view_text(webhook, &["clientConfig", "caBundle"]));
    let decoded = encoded.map(|encoded| STANDARD.decode(encoded).unwrap_or_default());
    decoded.map(|bytes| String::from_utf8(bytes).unwrap_or_default()).collect()
}

/// Returns how many whole days a time has.
fn days(seconds: i64) -> String {
    plural(usize::try_from(seconds / DAY_SECONDS).unwrap_or_default(), "day")
}

fn check_expiry(view: &ClusterView, what: &'static str, ends: i64, findings: &mut DoctorFindings) {
    let left = ends.saturating_sub(view.now);
    let renew = "it should have been renewed at two thirds of its lifetime: see the log of the servers";
    match left {
        ..=0 => findings.bad(what, format!("expired {} ago", days(-left)), renew),
        left if left < DAY_SECONDS => findings.warn(
            what,
            format!("expires in {}", plural(usize::try_from(left / 3600).unwrap_or_default(), "hour")),
            renew,
        ),
        left => findings.ok(what, format!("expires in {}", days(left))),
    }
}
