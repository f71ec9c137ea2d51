use super::*;
use crate::ServeSettings;
use crate::certificates::keys::first_certificate;
use crate::certificates::{CertificateKeys, CertificateStep, CertificateTerms, take_certificate_step};

fn made(now: i64) -> CertificateKeys {
    let terms = CertificateTerms::of(&ServeSettings::default());
    take_certificate_step(CertificateStep::Make, &CertificateKeys::default(), now, &terms).unwrap()
}

#[track_caller]
fn check_time(tag: Tag, text: &str, want: Option<i64>) {
    assert_eq!(time(AnyRef::new(tag, text.as_bytes()).unwrap()), want, "{text}");
}

#[test]
fn times_are_read_in_both_forms() {
    check_time(Tag::UtcTime, "700101000000Z", Some(0));
    check_time(Tag::UtcTime, "261116015656Z", Some(1_794_794_216));
    check_time(Tag::UtcTime, "491231235959Z", Some(2_524_607_999));
    check_time(Tag::GeneralizedTime, "20500101000000Z", Some(2_524_608_000));
    check_time(Tag::GeneralizedTime, "20000229120000Z", Some(951_825_600));
    check_time(Tag::GeneralizedTime, "99991231235959Z", Some(253_402_300_799));
}

#[test]
fn times_that_der_does_not_know_are_none() {
    check_time(Tag::UtcTime, "7001010000Z", None);
    check_time(Tag::UtcTime, "700101000000+0100", None);
    check_time(Tag::UtcTime, "701301000000Z", None);
    check_time(Tag::UtcTime, "500101000000Z", None);
    check_time(Tag::UtcTime, "+00101000000Z", None);
    check_time(Tag::GeneralizedTime, "700101000000Z", None);
    check_time(Tag::Sequence, "700101000000Z", None);
}

#[test]
fn what_was_put_into_a_certificate_is_read_from_it() {
    for now in [1_000_000_000, 1_794_794_216, 2_524_607_990, 4_000_000_000] {
        let keys = made(now);
        let (served, authority) =
            (first_certificate(&keys.certificate).unwrap(), first_certificate(&keys.authority).unwrap());
        let (served, authority) = (certificate(&served).unwrap(), certificate(&authority).unwrap());
        assert_eq!((served.not_before, served.not_after), (now - 600, now + 30 * 86_400));
        assert_eq!((authority.not_before, authority.not_after), (now - 600, now + 360 * 86_400));
        assert_eq!(served.issuer, authority.subject);
        assert_eq!(authority.subject, common_name(&format!("kubewright CA {now}")).unwrap());
        assert_ne!(served.public_key, authority.public_key);
    }
}

#[test]
fn no_damage_to_a_certificate_is_more_than_no_certificate() {
    let whole = first_certificate(&made(1_794_794_216).certificate).unwrap();
    for end in 0..whole.len() {
        let _ = certificate(&whole[..end]);
        for byte in [0, 0x7f, 0x80, 0x84, 0xff] {
            let mut damaged = whole.to_vec();
            damaged[end] = byte;
            let _ = certificate(&damaged);
        }
    }
    assert_eq!(certificate(&[]), None);
    assert_eq!(certificate(&whole[..whole.len() - 1]), None);
    assert_eq!(certificate(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
}
