//! Many policies: the memory that they take and the time in which they are loaded; and a long run.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use kubewright_load::{BenchLimits, Reviews};
use tokio::runtime::Runtime;

use crate::arguments::BenchArguments;
use crate::measure::{Load, MeasuredServer};
use crate::servers::{BenchPrograms, Scratch};
use crate::table::megabytes;

/// What 1,000 policies may take, in MB.
const MAX_MEMORY_MEGABYTES: f64 = 60.0;
/// In which time 10,000 rules are to be loaded.
const MAX_LOAD_TIME: Duration = Duration::from_secs(3);
/// How far memory may grow in a long run, after it has warmed up.
const MAX_MEMORY_GROWTH: f64 = 1.05;

pub(crate) fn measure_memory(
    arguments: &BenchArguments,
    runtime: &Runtime,
    programs: &BenchPrograms,
    scratch: &Scratch,
    pod: &str,
    limits: &mut BenchLimits,
) -> Result<(), String> {
    println!("\n## Many policies\n\n| policies | answers after s | memory MB, idle | under load | at most |");
    println!("|---:|---:|---:|---:|---:|");
    for count in [18, 1_000, 10_000] {
        let file = scratch.file(&format!("policies-{count}.yaml"));
        fs::write(&file, generated_policies(count)).map_err(|error| error.to_string())?;
        let ours = programs.serve(scratch, &format!("policies-{count}"), &file)?;
        let subject = MeasuredServer::new("kubewright", &ours, Reviews::of_pod(pod, "shop", true), 4)?;
        subject.await_answer(runtime)?;
        let idle = ours.server.usage();
        let _ = subject.run(runtime, Load::Rate(500.0), Duration::from_secs(arguments.seconds));
        let busy = ours.server.usage();
        let seconds = ours.started_in.as_secs_f64();
        let [idle, busy, peak] = [idle.memory, busy.memory, busy.peak].map(megabytes);
        println!("| {count} | {seconds:.2} | {idle:.1} | {busy:.1} | {peak:.1} |");
        match count {
            1_000 => limits.add(
                "1,000 policies, memory under load",
                "< 60 MB",
                format!("{busy:.1} MB"),
                busy < MAX_MEMORY_MEGABYTES,
            ),
            10_000 => {
                let is_fast = ours.started_in <= MAX_LOAD_TIME;
                limits.add("10,000 rules are loaded", "≤ 3 s", format!("{seconds:.2} s"), is_fast);
            }
            _ => {}
        }
    }
    if arguments.soak > 0 {
        measure_soak(arguments, runtime, programs, scratch, pod, limits)?;
    }
    Ok(())
}

fn measure_soak(
    arguments: &BenchArguments,
    runtime: &Runtime,
    programs: &BenchPrograms,
    scratch: &Scratch,
    pod: &str,
    limits: &mut BenchLimits,
) -> Result<(), String> {
    println!(
        "\n## {} minutes at 1,000/s\n\n| minute | p99 ms | wrong | memory MB |\n|---:|---:|---:|---:|",
        arguments.soak
    );
    let ours = programs.serve(scratch, "soak", &arguments.policies)?;
    let subject = MeasuredServer::new("kubewright", &ours, Reviews::of_pod(pod, "shop", true), 4)?;
    subject.await_answer(runtime)?;
    let (mut warm, mut last, mut wrong) = (0, 0, 0);
    for minute in 1..=arguments.soak {
        let run = subject.run(runtime, Load::Rate(1_000.0), Duration::from_secs(60));
        last = ours.server.usage().memory;
        if minute == 1 {
            warm = last;
        }
        wrong += run.wrong().count();
        let p99 = crate::table::milliseconds(run.latencies().at(0.99));
        println!("| {minute} | {p99} | {} | {:.1} |", run.wrong().count(), megabytes(last));
    }
    let growth = last as f64 / warm.max(1) as f64;
    limits.add(
        "a long run: memory",
        "≤ 1.05 times",
        format!("{growth:.3} times"),
        growth <= MAX_MEMORY_GROWTH,
    );
    limits.add("a long run: wrong", "0", wrong.to_string(), wrong == 0);
    Ok(())
}

/// Returns policies of all sorts that are enforced at admission, none of which refuses or changes the Pod.
fn generated_policies(count: usize) -> String {
    let mut text = String::new();
    for number in 0..count {
        let _ = match number % 7 {
            5 => writeln!(text, "{}", validating_policy(number)),
            6 => writeln!(text, "{}", mutating_policy(number)),
            _ => writeln!(text, "{}", cluster_policy(number)),
        };
    }
    text
}

fn cluster_policy(number: usize) -> String {
    let message = format!("failureAction: Enforce\n        message: 'number {number} does not allow this'");
    let (kind, rule) = match number % 7 {
        0 => (
            "validate",
            format!(
                "{message}\n        pattern: {{spec: {{containers: [{{name: '!forbidden-{number}', image: '!*:canary-{number}'}}]}}}}"
            ),
        ),
        1 => (
            "validate",
            format!(
                "{message}\n        deny: {{conditions: {{any: [{{key: '{{{{ request.object.metadata.labels.team || `\"none\"` }}}}', operator: Equals, value: team-{number}}}]}}}}"
            ),
        ),
        2 => (
            "validate",
            format!(
                "{message}\n        foreach: [{{list: request.object.spec.containers, deny: {{conditions: {{all: [{{key: '{{{{ element.image }}}}', operator: AnyIn, value: ['*/bad-{number}:*', '*/worse-{number}:*']}}]}}}}}}]"
            ),
        ),
        3 => (
            "mutate",
            format!(
                "patchStrategicMerge: {{metadata: {{(name): 'only-{number}', labels: {{+(team): 'team-{number}'}}}}}}"
            ),
        ),
        _ => (
            "mutate",
            format!(
                "foreach: [{{list: request.object.spec.containers, preconditions: {{all: [{{key: '{{{{ element.image }}}}', operator: Equals, value: 'image-{number}'}}]}}, patchStrategicMerge: {{spec: {{containers: [{{name: '{{{{ element.name }}}}', imagePullPolicy: Always}}]}}}}}}]"
            ),
        ),
    };
    format!(
        "---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: policy-{number}}}\nspec:\n  rules:\n    - name: rule-{number}\n      match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n      {kind}:\n        {rule}"
    )
}

/// The constraints of policies about Pods.
const PODS: &str = "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}";

fn validating_policy(number: usize) -> String {
    format!(
        "---\napiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: policy-{number}}}\nspec:\n  {PODS}\n  validations:\n    - expression: \"object.spec.containers.all(c, !c.image.endsWith('bad-{number}'))\"\n      message: number {number} does not allow this"
    )
}

fn mutating_policy(number: usize) -> String {
    format!(
        "---\napiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {{name: policy-{number}}}\nspec:\n  {PODS}\n  matchConditions:\n    - {{name: named, expression: \"object.metadata.name == 'only-{number}'\"}}\n  mutations:\n    - patchType: ApplyConfiguration\n      applyConfiguration: {{expression: \"Object{{metadata: Object.metadata{{labels: {{'team': 'team-{number}'}}}}}}\"}}"
    )
}
