//! Whether enough servers run, and stay when nodes go.

use std::collections::BTreeSet;

use kubewright_value::Value;

use super::finding::Findings;
use super::view::{View, text};

pub(super) fn check(view: &View, findings: &mut Findings) {
    findings.ok(
        "versions",
        format!(
            "this is kubewright {}, the API server {}",
            env!("CARGO_PKG_VERSION"),
            or_unknown(&view.version)
        ),
    );
    match &view.deployment {
        Err(error) => findings.unseen("servers", error),
        Ok(None) => findings.bad(
            "servers",
            format!("there is no Deployment `{}` in `{}`", view.name, view.namespace),
            "`kubewright install | kubectl apply -f -`, or say where it is with `--namespace` and `--name`",
        ),
        Ok(Some(deployment)) => {
            replicas(deployment, findings);
            image(deployment, findings);
        }
    }
    budget(view, findings);
    spread(view, findings);
}

fn or_unknown(version: &str) -> &str {
    if version.is_empty() { "does not say its version" } else { version }
}

fn replicas(deployment: &Value, findings: &mut Findings) {
    let number = |path: &[&str]| deployment.at(path).and_then(Value::as_i64).unwrap_or_default();
    let (wanted, ready) = (number(&["spec", "replicas"]), number(&["status", "readyReplicas"]));
    let logs = "`kubectl logs` and `kubectl describe pod` say why one does not get ready";
    match (wanted, ready) {
        (0, _) => findings.bad(
            "servers",
            "0 replicas are wanted, so that nobody answers",
            "`kubectl scale` it to 3",
        ),
        (_, 0) => findings.bad("servers", format!("none of {wanted} replicas is ready"), logs),
        (wanted, ready) if ready < wanted => {
            findings.warn("servers", format!("{ready} of {wanted} replicas are ready"), logs);
        }
        (1, _) => findings.warn(
            "servers",
            "one replica runs: nobody answers while it is moved to another node",
            "run three: `kubewright install --replicas 3`",
        ),
        _ => findings.ok("servers", format!("{ready} of {wanted} replicas are ready")),
    }
}

fn image(deployment: &Value, findings: &mut Findings) {
    let containers = deployment.at(&["spec", "template", "spec", "containers"]).and_then(Value::as_array);
    let image = containers.and_then(|all| all.first()).map(|one| text(one, &["image"])).unwrap_or_default();
    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
    if image.contains('@') || tag == env!("CARGO_PKG_VERSION") {
        findings.ok("image", format!("runs `{image}`"));
    } else if tag.is_empty() || tag == "latest" {
        let mend = "name a version or a digest with `--image`";
        findings.warn("image", format!("runs `{image}`, which can be another program tomorrow"), mend);
    } else {
        let why = format!("runs `{image}`, and this command is of version {}", env!("CARGO_PKG_VERSION"));
        findings.warn("image", why, "look with the command of the version that runs, or upgrade the servers");
    }
}

fn budget(view: &View, findings: &mut Findings) {
    match &view.budgets {
        Err(error) => findings.unseen("disruption budget", error),
        Ok(budgets) if budgets.is_empty() => findings.warn(
            "disruption budget",
            "there is no PodDisruptionBudget, so that a drain may stop all replicas at once",
            "`kubewright install` prints one",
        ),
        Ok(_) => findings.ok("disruption budget", "drains stop one replica at a time"),
    }
}

fn spread(view: &View, findings: &mut Findings) {
    match &view.pods {
        Err(error) => findings.unseen("spread", error),
        Ok(pods) => {
            let nodes: BTreeSet<&str> = pods
                .iter()
                .map(|pod| text(pod, &["spec", "nodeName"]))
                .filter(|node| !node.is_empty())
                .collect();
            if pods.len() > 1 && nodes.len() == 1 {
                let why = format!("all {} replicas run on one node and go with it", pods.len());
                findings.warn("spread", why, "add nodes, or delete a Pod so that it is scheduled anew");
            } else if !nodes.is_empty() {
                findings.ok("spread", format!("{} replicas run on {} nodes", pods.len(), nodes.len()));
            }
        }
    }
}
