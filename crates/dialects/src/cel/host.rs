//! Who may do what, which only the API server knows.

use kubewright_engine::{Answer, ApiCall, EvalError, Query};
use kubewright_lang::cel::Host;
use kubewright_lang::cel::library::kubernetes::CHECK;
use kubewright_value::{Map, Value};

use super::scope::Scope;

/// Where the API server is asked.
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

impl Host for Scope<'_> {
    fn ask(&self, question: &str, arguments: &[Value]) -> Result<Value, String> {
        let check = arguments.first().and_then(Value::as_object).filter(|_| question == CHECK);
        let check = check.ok_or_else(|| format!("nobody can answer `{question}`"))?;
        let data = self.review(check).to_string().into();
        let query = Query::Api(ApiCall { method: "POST".into(), url: REVIEWS.into(), data });
        let Answer::Found(review) = self.world.get(&query) else {
            let error = EvalError::unanswered(query);
            let message = error.message.clone();
            self.unanswered.borrow_mut().get_or_insert(error);
            return Err(message);
        };
        let status = |key: &str| review.at(&["status", key]).cloned();
        let fields = [("allowed", "allowed"), ("reason", "reason"), ("error", "evaluationError")];
        let answer = fields.iter().filter_map(|(name, key)| Some(((*name).into(), status(key)?)));
        Ok(answer.collect::<Map>().into())
    }
}

impl Scope<'_> {
    /// Returns the question as the API server wants it: about the one who asks, or about another user.
    fn review(&self, check: &Map) -> Value {
        let mut spec = Map::new();
        match check.get("user") {
            Some(user) => {
                spec.insert("user".into(), user.clone());
            }
            None => {
                for (key, from) in
                    [("user", "username"), ("groups", "groups"), ("uid", "uid"), ("extra", "extra")]
                {
                    if let Some(value) = self.request.user.get(from) {
                        spec.insert(key.into(), value.clone());
                    }
                }
            }
        }
        let what = check.iter().filter(|(key, _)| *key != "user");
        let what: Map = what.map(|(key, value)| (key.clone(), value.clone())).collect();
        let key = if check.get("path").is_some() { "nonResourceAttributes" } else { "resourceAttributes" };
        spec.insert(key.into(), what.into());
        Map::from([
            ("apiVersion", Value::from("authorization.k8s.io/v1")),
            ("kind", "SubjectAccessReview".into()),
            ("spec", spec.into()),
        ])
        .into()
    }
}
