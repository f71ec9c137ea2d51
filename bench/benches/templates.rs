//! A template with CEL in its texts, compiled once and rendered often.
//!
//! `cargo bench -p kubewright-bench --bench templates` prints a Markdown table. The last row copies the same manifest
//! deeply, which is the least that any rendering has to do that shares nothing.

use kubewright_bench::clock::{BenchSubject, medians, print_ratios};
use kubewright_bench::instructions::{self, BenchMode};
use kubewright_cel::{CelBindings, CelCost, CelEnvironment};
use kubewright_interpolate::{RenderedValue, ValueTemplate};
use kubewright_traits::functions;
use kubewright_value::{Map, Value, json, yaml};

/// About 2 KB with 20 expressions.
const TEMPLATE: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${metadata.name}
  namespace: ${metadata.namespace}
  labels: "${oc_merge(metadata.labels, {'tier': parameters.tier})}"
  annotations:
    example.com/owner: team-${parameters.team}
    example.com/description: "the ${metadata.componentName} of ${metadata.projectName}"
spec:
  replicas: ${parameters.replicas + 1}
  revisionHistoryLimit: 10
  strategy:
    type: RollingUpdate
    rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}
  selector:
    matchLabels: ${metadata.podSelectors}
  template:
    metadata:
      labels: ${metadata.podSelectors}
    spec:
      serviceAccountName: ${metadata.name}-runner
      terminationGracePeriodSeconds: 30
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: main
          image: ${workload.container.image}
          imagePullPolicy: IfNotPresent
          args: "${has(workload.container.args) ? workload.container.args : oc_omit()}"
          env: "${parameters.env.map(e, {'name': e.key, 'value': e.value})}"
          ports:
            - name: http
              containerPort: ${parameters.port}
              protocol: TCP
          resources:
            requests: {cpu: "${parameters.cpu}", memory: "${parameters.memory}"}
            limits: {cpu: "${parameters.cpu}", memory: "${parameters.memory}"}
          readinessProbe:
            httpGet: {path: /healthz, port: http, scheme: HTTP}
            periodSeconds: 10
            failureThreshold: 3
          volumeMounts:
            - {name: data, mountPath: /var/lib/data}
            - {name: tmp, mountPath: /tmp}
      volumes:
        - name: data
          persistentVolumeClaim: {claimName: "${metadata.name}-data"}
        - name: tmp
          emptyDir: {sizeLimit: "${parameters.?tmpSize.orValue('64Mi')}"}
      nodeSelector: {kubernetes.io/os: linux, kubernetes.io/arch: amd64}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web, part-of: shop}}
"#;

const INPUTS: &str = r#"{
    "metadata": {"name": "web-1f2e3d4c", "namespace": "shop-prod", "componentName": "web", "projectName": "shop",
        "labels": {"app": "web", "part-of": "shop"}, "podSelectors": {"app": "web", "instance": "a"}},
    "parameters": {"tier": "front", "team": "payments", "replicas": 2, "port": 8080, "cpu": "250m", "memory": "128Mi",
        "env": [{"key": "A", "value": "1"}, {"key": "B", "value": "2"}, {"key": "C", "value": "3"}]},
    "workload": {"container": {"image": "registry.example.com/shop/web:1.2.3"}}}"#;

fn main() {
    let value = yaml::parse(TEMPLATE).unwrap_or_default();
    let inputs = json::parse(INPUTS).unwrap_or_default();
    let empty = Map::new();
    let inputs = inputs.as_object().unwrap_or(&empty);
    let environment: CelEnvironment = inputs
        .keys()
        .fold(functions::trait_environment(), |environment, name| environment.variable(name.clone()));
    let (template, problems) = ValueTemplate::compile(&value, &environment);
    let render = || {
        let bindings =
            inputs.iter().fold(CelBindings::new(), |bindings, (name, value)| bindings.with(name, value));
        template.render(&bindings, &mut CelCost::default())
    };
    let mut count = 0;
    template.visit(|_, _, _, _| count += 1);
    match render() {
        Ok(RenderedValue::Value(made)) if problems.is_empty() => {
            println!(
                "{} bytes, {count} expressions, {} bytes rendered",
                TEMPLATE.len(),
                made.to_string().len()
            );
        }
        other => println!("nothing to measure: {problems:?} {other:?}"),
    }
    let subjects = [
        BenchSubject::new("rendering", || render().map_or(0, |_| 1)),
        BenchSubject::new("compiling", || ValueTemplate::compile(&value, &environment).1.len()),
        BenchSubject::new("copying the manifest deeply", || copy_value(&value).get("spec").map_or(0, |_| 1)),
    ];
    match BenchMode::of_arguments() {
        BenchMode::Time => print_ratios("a Deployment as a template", &subjects, &medians(&subjects, 7)),
        BenchMode::Instructions => instructions::print_instructions("a Deployment as a template", &subjects),
        BenchMode::Run(subject, rounds) => instructions::run_subject(&subjects, subject, rounds),
    }
}

fn copy_value(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::array(items.iter().map(copy_value).collect()),
        Value::Object(map) => {
            Value::object(map.iter().map(|(key, value)| (key.clone(), copy_value(value))).collect())
        }
        scalar => scalar.clone(),
    }
}
