//! Asks the API server about the rights of an account, with a bound on the questions and on the time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kubewright_cluster::{Client, GroupVersionResource};
use kubewright_engine::{BackgroundProgram, ResourceAccess};
use kubewright_value::CompactSort as _;
use kubewright_value::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// How many questions a policy may lead to; its controller asks about all of them later.
const MAX_ACCESS_QUESTIONS: usize = 60;

/// How many of them are asked at the same time.
const MAX_ASKED_AT_ONCE: usize = 8;

/// How long all of them may take.
const ACCESS_TIMEOUT: Duration = Duration::from_secs(3);

/// The answers about the programs of a policy.
#[derive(Debug, Default)]
pub(crate) struct AccessAnswers {
    /// What is missing for each program, in their order.
    pub(crate) missing: Vec<Vec<ResourceAccess>>,
    /// How many questions have no answer.
    pub(crate) unanswered: usize,
}

/// A verb that is asked about: the number of the program, the access, and the verb.
type AccessQuestion = (usize, ResourceAccess, &'static str);

/// Asks whether `user` may do what `programs` do. What is not answered by `deadline` is not missing.
pub(crate) async fn ask_access(
    client: &Client,
    user: &str,
    programs: &[(BackgroundProgram, Vec<ResourceAccess>)],
    deadline: Instant,
) -> AccessAnswers {
    let mut answers = AccessAnswers { missing: vec![Vec::new(); programs.len()], unanswered: 0 };
    let all = questions(programs);
    answers.unanswered = all.len();
    let until = deadline.min(Instant::now() + ACCESS_TIMEOUT);
    let mut answered = asked(client, user, all, until).await;
    answered.compact_sort_by_key(|(place, _)| *place);
    for (_, ((program, access, verb), is_allowed)) in answered {
        let Some(is_allowed) = is_allowed else { continue };
        answers.unanswered = answers.unanswered.saturating_sub(1);
        if let Some(missing) = answers.missing.get_mut(program).filter(|_| !is_allowed) {
            add_missing(missing, &access, verb);
        }
    }
    answers
}

type AccessAnswer = (usize, (AccessQuestion, Option<bool>));

/// Returns the answers that arrive in time, each with the place of its question.
async fn asked(client: &Client, user: &str, all: Vec<AccessQuestion>, until: Instant) -> Vec<AccessAnswer> {
    let (turns, user) = (Arc::new(Semaphore::new(MAX_ASKED_AT_ONCE)), Arc::<str>::from(user));
    let mut asking = JoinSet::new();
    for (place, question) in all.into_iter().take(MAX_ACCESS_QUESTIONS).enumerate() {
        let (client, user, turns) = (client.clone(), Arc::clone(&user), Arc::clone(&turns));
        asking.spawn(async move {
            let _turn = turns.acquire_owned().await;
            let is_allowed = is_permitted(&client, Some(&user), &question.1, question.2).await;
            (place, (question, is_allowed))
        });
    }
    let mut answered = Vec::new();
    // What is still asked when the time is over ends with the set.
    while let Ok(Some(answer)) = tokio::time::timeout_at(until.into(), asking.join_next()).await {
        answered.extend(answer.ok());
    }
    answered
}

/// Returns the questions, at most one more than are asked; those that are equal once: what is missing for one rule is
/// missing for the next.
fn questions(programs: &[(BackgroundProgram, Vec<ResourceAccess>)]) -> Vec<AccessQuestion> {
    let mut all: Vec<AccessQuestion> = Vec::new();
    for (place, (_, accesses)) in programs.iter().enumerate() {
        for access in accesses {
            for verb in &access.verbs {
                let is_same = |(_, other, asked): &AccessQuestion| {
                    asked == verb
                        && (&other.group, &other.resource, &other.namespace)
                            == (&access.group, &access.resource, &access.namespace)
                };
                if all.len() > MAX_ACCESS_QUESTIONS {
                    return all;
                }
                if !all.iter().any(is_same) {
                    all.push((place, access.clone(), verb));
                }
            }
        }
    }
    all
}

fn add_missing(missing: &mut Vec<ResourceAccess>, access: &ResourceAccess, verb: &'static str) {
    let is_same =
        |one: &&mut ResourceAccess| one.resource == access.resource && one.namespace == access.namespace;
    match missing.iter_mut().find(|one| is_same(one) && one.group == access.group) {
        Some(known) => known.verbs.push(verb),
        None => missing.push(ResourceAccess { verbs: vec![verb], ..access.clone() }),
    }
}

/// Returns whether `user`, or this program itself without one, may do `verb` as `access` says; nothing where the API server
/// does not say.
pub async fn is_permitted(
    client: &Client,
    user: Option<&str>,
    access: &ResourceAccess,
    verb: &str,
) -> Option<bool> {
    let (kind, plural) = match user {
        None => ("SelfSubjectAccessReview", "selfsubjectaccessreviews"),
        Some(_) => ("SubjectAccessReview", "subjectaccessreviews"),
    };
    let review = Map::from([
        ("apiVersion", "authorization.k8s.io/v1".into()),
        ("kind", kind.into()),
        ("spec", review_spec(user, access, verb)),
    ]);
    let path = GroupVersionResource::new("authorization.k8s.io", "v1", plural).all();
    let answer = client.raw("POST", &path, Some(&review.into())).await.ok()?;
    let answer = json::parse(&answer).ok()?;
    answer.at(&["status", "allowed"]).and_then(Value::as_bool)
}

fn review_spec(user: Option<&str>, access: &ResourceAccess, verb: &str) -> Value {
    let (resource, part) = access.resource.split_once('/').unwrap_or((&access.resource, ""));
    let attributes = Map::from([
        ("group", access.group.clone().into()),
        ("resource", resource.into()),
        ("subresource", part.into()),
        ("verb", verb.into()),
        ("namespace", access.namespace.clone().into()),
    ]);
    let mut spec = Map::from([("resourceAttributes", attributes.into())]);
    if let Some(user) = user {
        spec.insert("user".into(), user.into());
        spec.insert("groups".into(), account_groups(user));
    }
    spec.into()
}

/// Returns the groups that every ServiceAccount is in.
pub(super) fn account_groups(user: &str) -> Value {
    let mut groups = vec!["system:authenticated".into(), "system:serviceaccounts".into()];
    if let Some((namespace, _)) = user.strip_prefix(ACCOUNT_PREFIX).and_then(|rest| rest.split_once(':')) {
        groups.push(format!("system:serviceaccounts:{namespace}").into());
    }
    Value::array(groups)
}

/// What the user names of ServiceAccounts start with.
const ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// Returns the user name of the ServiceAccount `name` in `namespace`.
#[must_use]
pub fn account_user(namespace: &str, name: &str) -> String {
    format!("{ACCOUNT_PREFIX}{namespace}:{name}")
}
