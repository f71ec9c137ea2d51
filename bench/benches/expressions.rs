//! CEL expressions on one Pod, planned once and with their bindings; cel-go beside them where Go is.
//!
//! `cargo bench -p kubewright-bench --bench expressions` prints Markdown tables. The Go program in `inputs/cel-go` is
//! built and run where `go` is found and its modules can be had; it measures cel-go without and with a cost limit.

use std::process::Command;

use kubewright_bench::clock::{BenchSubject, medians, print_ratios};
use kubewright_bench::instructions::{self, BenchMode};
use kubewright_cel::{CelBindings, CelCost, CelEnvironment, CelProgram, library};
use kubewright_value::json;

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","labels":{"app":"web"}},
    "spec":{"containers":[
        {"name":"a","image":"nginx:1","resources":{"limits":{"cpu":"1"}}},
        {"name":"b","image":"nginx:1","resources":{"limits":{"cpu":"1"}}},
        {"name":"c","image":"nginx:1","resources":{"limits":{"cpu":"1"}}}]}}"#;

const EXPRESSIONS: [&str; 4] = [
    "object.spec.containers.all(c, has(c.resources) && has(c.resources.limits))",
    "object.metadata.name.matches('^[a-z]+$') && object.metadata.namespace != 'kube-system'",
    "object.spec.containers.map(c, c.name).filter(n, n.startsWith('a')).size() == 1",
    "!object.spec.containers.exists(c, c.image.endsWith(':latest') || !c.image.contains(':'))",
];

fn main() {
    let environment = library::EXTENSIONS
        .iter()
        .fold(CelEnvironment::standard(), |environment, library| environment.with(library))
        .variable("object");
    let pod = json::parse(POD).unwrap_or_default();
    let programs: Vec<CelProgram> =
        EXPRESSIONS.iter().filter_map(|text| CelProgram::compile(text, &environment).ok()).collect();
    let mut subjects: Vec<BenchSubject<'_>> = programs
        .iter()
        .map(|program| {
            BenchSubject::new(program.source(), || {
                let bindings = CelBindings::new().with("object", &pod);
                program.evaluate(&bindings, &mut CelCost::default()).map_or(0, |_| 1)
            })
        })
        .collect();
    subjects.push(BenchSubject::new("compiling the first", || {
        EXPRESSIONS.first().map_or(0, |text| CelProgram::compile(text, &environment).map_or(0, |_| 1))
    }));
    match BenchMode::of_arguments() {
        BenchMode::Time => {
            print_ratios("CEL on a Pod with 3 containers", &subjects, &medians(&subjects, 7));
            if let Err(error) = cel_go() {
                println!("\ncel-go was not measured: {error}");
            }
        }
        BenchMode::Instructions => {
            instructions::print_instructions("CEL on a Pod with 3 containers", &subjects);
        }
        BenchMode::Run(subject, rounds) => instructions::run_subject(&subjects, subject, rounds),
    }
}

fn cel_go() -> Result<(), String> {
    let inputs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("inputs/cel-go");
    // Go writes beside its sources.
    let folder = std::env::temp_dir().join(format!("kubewright-cel-go-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    for file in ["go.mod", "main.go"] {
        std::fs::copy(inputs.join(file), folder.join(file)).map_err(|error| error.to_string())?;
    }
    let mut go = Command::new("go");
    go.args(["run", "-mod=mod", ".", POD]).args(EXPRESSIONS).current_dir(&folder);
    let output = go.output().map_err(|error| error.to_string());
    let _ = std::fs::remove_dir_all(&folder);
    let output = output?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    println!("\ncel-go\n\n{}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}
