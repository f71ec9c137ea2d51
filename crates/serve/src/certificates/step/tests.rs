use super::*;
use crate::certificates::take_certificate_step;

const NOW: i64 = 1_794_794_216;
const DAY: i64 = 86_400;

fn terms() -> CertificateTerms {
    CertificateTerms::of(&ServeSettings {
        url: Some("https://127.0.0.1:9443".to_owned()),
        ..ServeSettings::default()
    })
}

fn after(step: CertificateStep, keys: &CertificateKeys, now: i64) -> CertificateKeys {
    take_certificate_step(step, keys, now, &terms()).unwrap()
}

fn made() -> CertificateKeys {
    after(CertificateStep::Make, &CertificateKeys::default(), NOW)
}

#[track_caller]
fn check(keys: &CertificateKeys, now: i64, adopted: Option<u64>, want: CertificateStep) {
    assert_eq!(next_certificate_step(Some(keys), now, adopted.map(Duration::from_secs), &terms()), want);
}

fn change(keys: &CertificateKeys, change: impl FnOnce(&mut CertificateKeys)) -> CertificateKeys {
    let mut keys = keys.clone();
    change(&mut keys);
    keys
}

#[test]
fn nothing_at_all_is_made() {
    assert_eq!(next_certificate_step(None, NOW, None, &terms()), CertificateStep::Make);
    check(&CertificateKeys::default(), NOW, None, CertificateStep::Make);
}

#[test]
fn a_certificate_is_renewed_at_two_thirds_of_its_life_and_not_before() {
    check(&made(), NOW, None, CertificateStep::Wait(NOW + 20 * DAY));
    check(&made(), NOW + 20 * DAY - 1, None, CertificateStep::Wait(NOW + 20 * DAY));
    check(&made(), NOW + 20 * DAY, None, CertificateStep::Renew);
    let renewed = after(CertificateStep::Renew, &made(), NOW + 20 * DAY);
    check(&renewed, NOW + 20 * DAY, None, CertificateStep::Wait(NOW + 40 * DAY));
}

#[test]
fn a_renewed_certificate_is_of_the_same_authority_with_a_new_key() {
    let before = made();
    let renewed = after(CertificateStep::Renew, &before, NOW + 20 * DAY);
    assert_eq!(before.bundle(), renewed.bundle());
    assert_ne!(before.key, renewed.key);
}

/// The keys when two thirds of the authority's life are over, with a certificate that was renewed in time.
fn ageing() -> (CertificateKeys, i64) {
    let now = NOW + 240 * DAY;
    (after(CertificateStep::Renew, &made(), now), now)
}

#[test]
fn an_authority_is_announced_switched_to_and_the_old_one_retired() {
    let (keys, now) = ageing();
    check(&keys, now - 1, None, CertificateStep::Wait(now));
    check(&keys, now, None, CertificateStep::Announce);

    let announced = after(CertificateStep::Announce, &keys, now);
    assert_eq!(announced.certificate, keys.certificate);
    assert_eq!(announced.bundle().matches("BEGIN CERTIFICATE").count(), 2);
    check(&announced, now, None, CertificateStep::Wait(now + 1));
    check(&announced, now, Some(9), CertificateStep::Wait(now + 1));
    check(&announced, now, Some(10), CertificateStep::Switch);

    let switched = after(CertificateStep::Switch, &announced, now + 20);
    assert_eq!(switched.bundle(), announced.bundle());
    check(&switched, now + 20, None, CertificateStep::Wait(now + 20 + 3600));
    check(&switched, now + 20 + 3600, None, CertificateStep::Retire);

    let retired = after(CertificateStep::Retire, &switched, now + 4000);
    assert_eq!(retired.bundle().matches("BEGIN CERTIFICATE").count(), 1);
    check(&retired, now + 4000, None, CertificateStep::Wait(now + 20 + 20 * DAY));
}

#[test]
fn every_certificate_on_the_way_is_trusted_by_the_bundle_before_and_after() {
    let (keys, now) = ageing();
    let announced = after(CertificateStep::Announce, &keys, now);
    let switched = after(CertificateStep::Switch, &announced, now);
    let retired = after(CertificateStep::Retire, &switched, now);
    let believes = |bundle: &CertificateKeys, served: &CertificateKeys| {
        let der = first_certificate(&served.certificate).unwrap();
        let authorities = [&bundle.authority, &bundle.old_authority];
        authorities.into_iter().filter_map(|text| first_certificate(text)).any(|authority| {
            certificate_trust(&der, &x509::certificate(&der).unwrap(), &authority, &terms())
                == CertificateTrust::All
        })
    };
    assert!(believes(&announced, &keys) && believes(&announced, &switched) && believes(&switched, &keys));
    assert!(!believes(&retired, &keys) && !believes(&keys, &switched));
}

#[test]
fn a_switch_does_not_wait_for_ever_for_an_api_server_that_says_nothing() {
    let (keys, now) = ageing();
    let announced = after(CertificateStep::Announce, &keys, now);
    check(&announced, now + 25 * DAY - 1, None, CertificateStep::Wait(now + 25 * DAY));
    check(&announced, now + 25 * DAY, None, CertificateStep::Switch);
}

#[test]
fn clocks_may_differ_by_five_minutes() {
    check(&made(), NOW - 300, None, CertificateStep::Wait(NOW + 20 * DAY));
    check(&made(), NOW + 300, None, CertificateStep::Wait(NOW + 20 * DAY));
    let (keys, now) = ageing();
    let announced = after(CertificateStep::Announce, &keys, now + 300);
    check(&announced, now - 300, Some(10), CertificateStep::Switch);
    let switched = after(CertificateStep::Switch, &announced, now - 300);
    check(&switched, now + 300, None, CertificateStep::Wait(now - 300 + 3600));
}

#[test]
fn what_a_clock_far_ahead_has_made_is_made_again() {
    let future = after(CertificateStep::Make, &CertificateKeys::default(), NOW + 2 * DAY);
    check(&future, NOW, None, CertificateStep::Announce);
    let announced = after(CertificateStep::Announce, &future, NOW);
    check(&announced, NOW, None, CertificateStep::Switch);
    let future = after(CertificateStep::Renew, &made(), NOW + 2 * DAY);
    check(&future, NOW, None, CertificateStep::Renew);
}

#[test]
fn what_is_broken_is_replaced_by_as_little_as_possible() {
    let keys = made();
    let (other, now) = (made(), NOW + DAY);
    check(&change(&keys, |keys| keys.certificate.clear()), now, None, CertificateStep::Renew);
    check(&change(&keys, |keys| keys.key = "-----BEGIN".to_owned()), now, None, CertificateStep::Renew);
    check(&change(&keys, |keys| keys.key.clone_from(&other.key)), now, None, CertificateStep::Renew);
    check(&change(&keys, |keys| keys.authority_key.clear()), now, None, CertificateStep::Announce);
    check(
        &change(&keys, |keys| keys.authority_key.clone_from(&other.authority_key)),
        now,
        None,
        CertificateStep::Announce,
    );
    check(&change(&keys, |keys| keys.authority.clear()), now, None, CertificateStep::Make);
    check(&change(&keys, |keys| keys.authority = "nonsense".to_owned()), now, None, CertificateStep::Make);
    check(
        &change(&keys, |keys| keys.old_authority = "nonsense".to_owned()),
        now,
        None,
        CertificateStep::Retire,
    );
    let both = change(&keys, |keys| (keys.key.clear(), keys.authority_key.clear()).0);
    check(&both, now, None, CertificateStep::Make);
    let strange = CertificateKeys { authority: other.authority, authority_key: other.authority_key, ..keys };
    check(&strange, now, None, CertificateStep::Renew);
}

#[test]
fn what_has_ended_is_replaced() {
    check(&made(), NOW + 31 * DAY, None, CertificateStep::Renew);
    check(&made(), NOW + 361 * DAY, None, CertificateStep::Make);
    let (keys, now) = ageing();
    let switched = after(CertificateStep::Switch, &after(CertificateStep::Announce, &keys, now), now);
    check(&switched, NOW + 361 * DAY, None, CertificateStep::Retire);
}

#[test]
fn a_new_name_is_a_new_certificate_unless_the_old_one_is_too_young() {
    let terms = CertificateTerms { names: vec!["elsewhere.shop.svc".to_owned()], ..terms() };
    assert_eq!(next_certificate_step(Some(&made()), NOW, None, &terms), CertificateStep::Wait(NOW + 60));
    assert_eq!(next_certificate_step(Some(&made()), NOW + 60, None, &terms), CertificateStep::Renew);
    let renewed = take_certificate_step(CertificateStep::Renew, &made(), NOW + 60, &terms).unwrap();
    assert_eq!(
        next_certificate_step(Some(&renewed), NOW + 60, None, &terms),
        CertificateStep::Wait(NOW + 60 + 20 * DAY)
    );
}

#[test]
fn every_step_leads_on_and_the_second_replica_finds_it_done() {
    let terms = CertificateTerms { life: Duration::from_secs(30), grace: Duration::from_secs(1), ..terms() };
    let (mut keys, mut steps) = (None, Vec::new());
    for now in NOW..NOW + 800 {
        loop {
            let step = next_certificate_step(keys.as_ref(), now, Some(Duration::from_secs(5)), &terms);
            if matches!(step, CertificateStep::Wait(_)) {
                break;
            }
            let taken = take_certificate_step(step, &keys.unwrap_or_default(), now, &terms).unwrap();
            assert_ne!(next_certificate_step(Some(&taken), now, None, &terms), step, "at {}", now - NOW);
            steps.push(step);
            keys = Some(taken);
        }
        let (_, ends) = keys.as_ref().unwrap().served().unwrap();
        assert!(ends > now, "the certificate has ended at {}", now - NOW);
    }
    let count = |step| steps.iter().filter(|other| **other == step).count();
    assert_eq!(
        (count(CertificateStep::Make), count(CertificateStep::Announce), count(CertificateStep::Switch)),
        (1, 3, 3)
    );
    assert_eq!(count(CertificateStep::Retire), 3);
    assert!(count(CertificateStep::Renew) >= 30, "{}", count(CertificateStep::Renew));
}

#[test]
fn keys_survive_the_secret_and_are_never_printed() {
    let (keys, now) = ageing();
    let keys = after(CertificateStep::Announce, &keys, now);
    let secret = [("data".into(), keys.data())].into_iter().collect::<kubewright_value::Map>().into();
    assert!(CertificateKeys::of(&secret) == keys);
    assert_eq!(format!("{keys:?}"), "Keys { .. }");
}

#[test]
fn the_names_are_those_of_the_service_and_of_the_address() {
    let names = |url: &str| {
        CertificateTerms::of(&ServeSettings { url: Some(url.to_owned()), ..ServeSettings::default() }).names
    };
    let service = ["kubewright.kubewright-system.svc", "kubewright.kubewright-system.svc.cluster.local"];
    for (url, host) in [
        ("https://127.0.0.1:9443/x", "127.0.0.1"),
        ("https://[::1]:9443", "::1"),
        ("https://hooks.test", "hooks.test"),
    ] {
        assert_eq!(names(url)[..2], service);
        assert_eq!(names(url).last().unwrap(), host);
    }
    assert_eq!(names("nonsense").len(), 3);
}
