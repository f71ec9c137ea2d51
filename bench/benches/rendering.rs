//! 1,000 components with 5 traits of 10 operations each, on one core, beside a pass over the same manifests that does
//! nothing to them.
//!
//! `cargo bench -p kubewright-bench --bench rendering` prints Markdown tables.

#![expect(clippy::expect_used, reason = "a measurement of something that fails is worse than none")]

use std::time::Duration;

use kubewright_bench::clock::{BenchSubject, medians};
use kubewright_bench::instructions::{self, BenchMode};
use kubewright_bench::traits::{OPERATION_COUNT, PARAMETERS, TRAITS, component_manifests, component_name};
use kubewright_traits::{
    CompiledTrait, Instance, Manifest, RenderContext, RenderOptions, Rendering, render_traits,
};
use kubewright_value::{Document, Map, Source, Value, yaml};

// As in the binary: both rows that are compared make and drop objects by the thousand.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const COMPONENTS: usize = 1_000;
const ROUNDS: usize = 7;

fn main() {
    let mode = BenchMode::of_arguments();
    // Counting is slow, and one component is like the other.
    let components = if matches!(mode, BenchMode::Time) { COMPONENTS } else { 4 };
    let texts: Vec<String> = (0..components).map(component_manifests).collect();
    let instances = instances();
    let contexts: Vec<RenderContext> = (0..components).map(context).collect();
    let bases: Vec<Vec<Manifest>> = texts.iter().map(|text| read_base_manifests(text)).collect();
    for (text, context) in texts.iter().zip(&contexts).take(1) {
        assert_rendered(&render_component_traits(text, &instances, context));
    }
    let applications = components * TRAITS.len() * OPERATION_COUNT;
    let bytes: usize = texts.iter().map(String::len).sum();
    if let BenchMode::Time = mode {
        println!("\n{components} components of {} bytes, {applications} operations\n", bytes / components);
    }

    let quarter = components / 4;
    let all = |count: usize| {
        let (texts, instances, contexts) = (&texts, &instances, &contexts);
        move || {
            texts
                .iter()
                .zip(contexts)
                .take(count)
                .map(|(text, context)| write_rendering(&render_component_traits(text, instances, context)))
                .sum()
        }
    };
    let subjects = [
        BenchSubject::new("compile the five traits", || self::instances().len()),
        BenchSubject::new("apply to manifests in memory", || {
            bases
                .iter()
                .zip(&contexts)
                .map(|(base, context)| {
                    render_traits(base.clone(), &instances, context, &RenderOptions::default())
                        .manifests
                        .len()
                })
                .sum()
        }),
        BenchSubject::new("read, apply, write: a quarter of them", all(quarter)),
        BenchSubject::new("read, apply, write", all(components)),
        BenchSubject::new("read and write, without traits", || {
            texts
                .iter()
                .map(|text| {
                    read_base_manifests(text)
                        .iter()
                        .map(|manifest| yaml::write(&manifest.object).len())
                        .sum::<usize>()
                })
                .sum()
        }),
    ];
    match mode {
        BenchMode::Run(subject, rounds) => instructions::run_subject(&subjects, subject, rounds),
        BenchMode::Instructions => {
            instructions::print_instructions(&format!("{components} components"), &subjects);
        }
        BenchMode::Time => print_rendering(&subjects, applications),
    }
}

fn print_rendering(subjects: &[BenchSubject<'_>], applications: usize) {
    let times = medians(subjects, ROUNDS);
    let nothing = times.last().map_or(0.0, Duration::as_secs_f64).max(1e-9);
    println!("| work | ms | µs an operation | times the last row |\n|---|---:|---:|---:|");
    for (subject, time) in subjects.iter().zip(&times) {
        let seconds = time.as_secs_f64();
        let operations = if subject.name.contains("quarter") { applications / 4 } else { applications };
        println!(
            "| {} | {:.2} | {:.2} | {:.2} |",
            subject.name,
            seconds * 1e3,
            seconds * 1e6 / operations as f64,
            seconds / nothing
        );
    }
}

fn instances() -> Vec<Instance> {
    let instance = |(text, parameters): (&&str, &&str)| {
        let document = yaml::read(&Source::new("trait.yaml", *text)).documents.pop().expect("a trait");
        let (of, diagnostics) = CompiledTrait::compile(&document, &[]);
        assert!(diagnostics.iter().all(|found| !found.is_error()), "{diagnostics:#?}");
        let of = of.expect("a trait");
        let made = |text: &str| {
            let value = yaml::parse(text).expect("parameters");
            Document::made(value, Source::new("parameters", text))
        };
        Instance {
            name: of.name().clone(),
            of,
            parameters: made(parameters),
            environment_configs: made("{}"),
        }
    };
    TRAITS.iter().zip(&PARAMETERS).map(instance).collect()
}

fn context(number: usize) -> RenderContext {
    let metadata = Map::from([
        ("name", Value::from(component_name(number))),
        ("componentName", component_name(number).into()),
        ("environmentName", "production".into()),
        ("namespace", "shop".into()),
    ]);
    RenderContext::new().with("metadata", metadata.into())
}

fn read_base_manifests(text: &str) -> Vec<Manifest> {
    let reading = yaml::read(&Source::new("base.yaml", text));
    reading
        .documents
        .into_iter()
        .enumerate()
        .map(|(number, document)| Manifest::given(number, document.value))
        .collect()
}

fn render_component_traits(text: &str, instances: &[Instance], context: &RenderContext) -> Rendering {
    render_traits(read_base_manifests(text), instances, context, &RenderOptions::default())
}

fn write_rendering(rendering: &Rendering) -> usize {
    rendering.manifests.iter().map(|manifest| yaml::write(&manifest.object).len()).sum()
}

/// Every operation must do something, or it is not what is measured.
fn assert_rendered(rendering: &Rendering) {
    assert!(rendering.diagnostics.is_empty(), "{:#?}", rendering.diagnostics);
    assert_eq!(rendering.manifests.len(), 4);
}
