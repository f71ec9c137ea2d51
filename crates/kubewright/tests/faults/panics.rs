//! A rule that panics. No rule language lets a rule do that, so it is made here, in a server of this process beside the
//! others.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use kubewright_engine::{
    AdmissionPhase, Applies, Effect, EvalError, Evaluation, EvaluationModes, KindScope, Rule, RuleAction,
    RuleId, RuleProgram, RuleScope,
};
use kubewright_serve::certificates::{
    CertificateKeys, CertificateStep, CertificateTerms, take_certificate_step,
};
use kubewright_serve::{ServeSettings, ServerState, Snapshot, WebhookServer};
use kubewright_value::{Location, Position, Source, Value};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::installation::metric;
use crate::stage::Stage;
use crate::table::Row;

const WORDS: &str = "as a rule might";

/// Requests about Secrets meet the rule; those about ConfigMaps go to the same server and do not.
pub(crate) fn one_panics(stage: &mut Stage<'_>) -> Row {
    keep_quiet();
    let server = Panicking::start();
    stage.cluster.create_namespace("panics");
    stage.cluster.kubectl(&["apply", "-f", "-"], &server.configuration()).expect_success();
    stage.await_that("the server is asked", |stage| post(stage, "secrets", "Secret") == Ok(500));
    let (lasting, mut wrong, mut asked) = (stage.seconds(2, 20), Vec::new(), 0);
    let before = metric(server.health, "kubewright_panics_total");
    let (run, ()) = stage.load.during(|start| {
        while start.elapsed() < lasting {
            asked += 1;
            for (resource, kind, want) in
                [("secrets", "Secret", Ok(500)), ("configmaps", "ConfigMap", Ok(201))]
            {
                let got = post(stage, resource, kind);
                if got != want {
                    wrong.push((kind, got));
                }
            }
        }
    });
    let mut row = Row::of(&run).recovered(&run, Duration::ZERO);
    let panics = metric(server.health, "kubewright_panics_total") - before;
    row.notes.push(format!("{asked} requests met it, {panics} panics were counted"));
    row.expect(wrong.is_empty(), format!("{} answers were others, as {:?}", wrong.len(), wrong.first()));
    row.expect(panics >= f64::from(asked), "a panic was not counted");
    row.expect(row.right == row.requests, "a request went wrong");
    stage.cluster.kubectl(&["delete", "validatingwebhookconfiguration", "panics"], "").expect_success();
    let gone = Instant::now();
    stage.await_that("no webhook is called", |stage| post(stage, "secrets", "Secret") == Ok(201));
    row.recovery = gone.elapsed();
    sleep(Duration::from_millis(100));
    row
}

/// Leaves these panics out of the output, which is about others.
fn keep_quiet() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.to_string().contains(WORDS) {
            usual(panic);
        }
    }));
}

fn post(stage: &Stage<'_>, resource: &str, kind: &str) -> Result<u16, String> {
    let body = format!(
        r#"{{"apiVersion":"v1","kind":"{kind}","metadata":{{"name":"panics","namespace":"panics"}}}}"#
    );
    stage
        .load
        .post(&format!("/api/v1/namespaces/panics/{resource}?dryRun=All"), body)
        .map(|(status, _)| status)
}

/// A server in this process.
struct Panicking {
    address: SocketAddr,
    health: SocketAddr,
    authority: String,
    _runtime: Runtime,
}

impl Panicking {
    fn start() -> Self {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let settings = ServeSettings { address: any, health_address: any, ..ServeSettings::default() };
        let (notices, mut told) = mpsc::channel(100);
        let state = Arc::new(ServerState::new(settings, notices));
        state.snapshot.store(Arc::new(Snapshot::of_rules(AdmissionPhase::Validating, vec![rule()], 1)));
        let terms = CertificateTerms {
            names: vec!["127.0.0.1".to_owned()],
            life: Duration::from_secs(3_600),
            grace: Duration::ZERO,
        };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_secs()).unwrap_or_default();
        let keys = take_certificate_step(CertificateStep::Make, &CertificateKeys::default(), now, &terms)
            .expect("keys");
        state.certificates.serve(&keys).expect("a certificate");
        let server = WebhookServer::bind(Arc::clone(&state)).expect("a port");
        let (address, health) =
            (server.address().expect("an address"), server.health_address().expect("an address"));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        runtime.spawn(async move { while told.recv().await.is_some() {} });
        runtime.spawn(async move {
            let _ = server.serve(state.certificates.resolver(), std::future::pending()).await;
        });
        Self { address, health, authority: keys.authority, _runtime: runtime }
    }

    fn configuration(&self) -> String {
        let bundle = base64::engine::general_purpose::STANDARD.encode(&self.authority);
        format!(
            r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{{"name":"panics"}},
            "webhooks":[{{"name":"panics.example.com","admissionReviewVersions":["v1"],"sideEffects":"None","failurePolicy":"Fail","timeoutSeconds":5,
            "namespaceSelector":{{"matchLabels":{{"kubernetes.io/metadata.name":"panics"}}}},
            "rules":[{{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["secrets","configmaps"]}}],
            "clientConfig":{{"url":"https://{}/validate","caBundle":"{bundle}"}}}}]}}"#,
            self.address
        )
    }
}

fn rule() -> Rule {
    Rule {
        id: RuleId { dialect: "test", policy: "faults".into(), rule: "panics".into() }.into(),
        scope: RuleScope { kinds: KindScope::Named(vec!["Secret".into()]), ..RuleScope::default() },
        action: RuleAction::Validate,
        phase: AdmissionPhase::Validating,
        tier: 0,
        precedence: 0,
        position: 0,
        matches_current: false,
        metadata: Arc::default(),
        refuses_on_error: false,
        is_exclusive: false,
        reads_secrets: false,
        home: None,
        evaluation_modes: EvaluationModes::default(),
        location: Location { source: Source::new("panics", ""), position: Position::START, length: 1 },
        program: Box::new(Panics),
    }
}

struct Panics;

impl RuleProgram for Panics {
    fn applies(&self, _: &Value, _: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        Ok(Applies::Yes)
    }

    fn evaluate(&self, _: &mut Value, _: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        panic!("{WORDS}")
    }
}
