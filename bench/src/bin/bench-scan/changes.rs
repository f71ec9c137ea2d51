//! A rule that changes, and an object that is excluded from one.

use std::time::{Duration, Instant};

use kubewright_load::BenchLimits;
use kubewright_value::{Value, json};

use crate::churn::has_row;
use crate::fleet::{Fleet, wait_for};
use crate::objects::{application_name, exposed_applications, gold_applications, namespace_of};

const MAX_RULE_DELAY: Duration = Duration::from_secs(10);
const MAX_EXCLUSION_DELAY: Duration = Duration::from_secs(5);
/// How long a row is waited for.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(120);

/// Raises the replicas that the policy `gold-tier` asks for, and lowers them again.
pub(crate) async fn measure_changed_rule(
    fleet: &Fleet,
    applications: usize,
    limits: &mut BenchLimits,
) -> Result<(), String> {
    let mut subjects = Vec::new();
    for number in gold_applications(applications) {
        let (name, namespace) = (application_name(number), namespace_of(number));
        let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}");
        let deployment = fleet.get(&path).await?.ok_or_else(|| format!("no {path}"))?;
        subjects.push((namespace, deployment.str_at(&["metadata", "uid"]).to_owned()));
    }
    println!("\n| changed rule | rows | seconds until all are right |\n|---|---:|---:|");
    for (replicas, is_row) in [(">=5", true), (">=2", false)] {
        let rule = format!(
            r#"[{{"name":"replicas","match":{{"any":[{{"resources":{{"kinds":["Deployment"],"selector":{{"matchLabels":{{"shop.example/tier":"gold"}}}}}}}}]}},"validate":{{"failureAction":"Audit","message":"The gold tier needs more replicas.","pattern":{{"spec":{{"replicas":"{replicas}"}}}}}}}}]"#
        );
        change_policy(fleet, "gold-tier", &rule).await?;
        let start = Instant::now();
        for (namespace, uid) in &subjects {
            wait_for(CHANGE_TIMEOUT, || async {
                Ok(has_row(fleet, namespace, uid, "gold-tier").await? == is_row)
            })
            .await
            .map_err(|error| format!("row of `gold-tier` in {namespace}: {error}"))?;
        }
        let took = start.elapsed();
        let what = if is_row { "that now fail" } else { "that now pass" };
        println!("| {what} | {} | {:.2} |", subjects.len(), took.as_secs_f64());
        let what = format!("a changed rule: {} rows {what}", subjects.len());
        limits.add(&what, "≤ 10 s", format!("{:.2} s", took.as_secs_f64()), took <= MAX_RULE_DELAY);
    }
    Ok(())
}

/// Excludes a Service from the rule that it breaks: its row must go.
pub(crate) async fn measure_exclusion(
    fleet: &Fleet,
    applications: usize,
    limits: &mut BenchLimits,
) -> Result<(), String> {
    let number = exposed_applications(applications).next().ok_or("no Service breaks a rule")?;
    let (name, namespace) = (application_name(number), namespace_of(number));
    let path = format!("/api/v1/namespaces/{namespace}/services/{name}");
    let service = fleet.get(&path).await?.ok_or_else(|| format!("no {path}"))?;
    let uid = service.str_at(&["metadata", "uid"]);
    wait_for(CHANGE_TIMEOUT, || has_row(fleet, &namespace, uid, "service-exposure"))
        .await
        .map_err(|error| format!("row of `service-exposure` for {path}: {error}"))?;

    let policy = fleet.get("/apis/kyverno.io/v1/clusterpolicies/service-exposure").await?;
    let rules = policy.as_ref().and_then(|policy| policy.at(&["spec", "rules"])).and_then(Value::as_array);
    let exclude = format!(
        r#"{{"exclude":{{"any":[{{"resources":{{"kinds":["Service"],"names":["{name}"],"namespaces":["{namespace}"]}}}}]}},"#
    );
    let rules: Vec<String> = rules
        .unwrap_or_default()
        .iter()
        .map(|rule| json::to_string(rule).replacen('{', &exclude, 1))
        .collect();
    change_policy(fleet, "service-exposure", &format!("[{}]", rules.join(","))).await?;
    let took = wait_for(CHANGE_TIMEOUT, || async {
        Ok(!has_row(fleet, &namespace, uid, "service-exposure").await?)
    })
    .await
    .map_err(|error| format!("row of `service-exposure` for {path} after the exclusion: {error}"))?;
    println!("\nExclusion added: the row is gone after {:.2} s.", took.as_secs_f64());
    limits.add(
        "an exclusion added: its row is gone",
        "≤ 5 s",
        format!("{:.2} s", took.as_secs_f64()),
        took <= MAX_EXCLUSION_DELAY,
    );
    Ok(())
}

async fn change_policy(fleet: &Fleet, name: &str, rules: &str) -> Result<(), String> {
    let path = format!("/apis/kyverno.io/v1/clusterpolicies/{name}");
    fleet.patch(&path, &format!(r#"{{"spec":{{"rules":{rules}}}}}"#)).await.map(drop)
}
