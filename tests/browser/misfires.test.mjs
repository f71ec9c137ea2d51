// Rules that do not do what their author meant. For each, the cause is on the screen without a click.
import assert from "node:assert/strict";
import { closePage, fragmentOf, judged, objects, openPage, rules } from "./driver.mjs";

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: cart
  namespace: shop
  labels:
    app: cart
    tier: backend
spec:
  replicas: 2
  selector: {matchLabels: {app: cart}}
  template:
    metadata: {labels: {app: cart}}
    spec:
      containers:
        - name: cart
          image: registry.example/cart:2.1
`;

const clusterPolicy = (rule) => `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: misfire}
spec:
  rules:
    - name: misfire
${rule}`;
const modRule = (match, patch) => `apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: misfire, namespace: shop}
spec:
  type: Patch
  match:
${match}
  patch:
${patch}
`;
const pattern = "      validate:\n        message: owner is missing\n        pattern: {metadata: {labels: {owner: \"?*\"}}}\n";

// The rule, the words of the cause, and the lines of rule and object that are marked.
const misfires = {
  "a selector with another value": [clusterPolicy(`      match:
        any:
          - resources:
              kinds: [Deployment]
              selector: {matchLabels: {tier: front-end}}
${pattern}`), /tier=front-end/, /"tier":"backend"/],
  "a misspelt kind": [clusterPolicy(`      match: {any: [{resources: {kinds: [Deploymnet]}}]}\n${pattern}`), /did you mean `Deployment`/, /Deploymnet/],
  "another namespace": [clusterPolicy(`      match: {any: [{resources: {kinds: [Deployment], namespaces: ["prod-*"]}}]}\n${pattern}`), /prod-\*/, /shop/],
  "an exclude that fits": [clusterPolicy(`      match: {any: [{resources: {kinds: [Deployment]}}]}\n      exclude: {any: [{resources: {names: ["c*"]}}]}\n${pattern}`), /exclude/, /c\*/],
  "a precondition that is not met": [clusterPolicy(`      match: {any: [{resources: {kinds: [Deployment]}}]}
      preconditions:
        all:
          - {key: "{{ request.object.spec.replicas }}", operator: GreaterThan, value: 3}
${pattern}`), /GreaterThan|precondition/, /2/],
  "a label that is missing": [clusterPolicy(`      match: {any: [{resources: {kinds: [Deployment]}}]}\n${pattern}`), /owner is missing/, /metadata\.labels\.owner/],
  "a variable without a value": [clusterPolicy(`      match: {any: [{resources: {kinds: [Deployment]}}]}
      preconditions: {all: [{key: "{{ request.object.metadata.annotations.owner }}", operator: Equals, value: a}]}
${pattern}`), /annotations/, /\|\| ''/],
  "a path with a typo in a ModRule": [modRule("    - select: '$.spec.template.spec.container[*].image'\n      matchRegex: '.*cart.*'", "    - {op: add, path: /metadata/labels/seen, value: yes}"), /did you mean `containers`/, /container\[\*\]/],
  "a patch of a key that does not exist": [modRule("    - select: '$.kind'\n      matchValue: Deployment", "    - {op: replace, path: /metadata/annotations/seen, value: yes}"), /there is no key `annotations`/, /replace/],
  "an expression that fails on a missing field": [`apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: misfire}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  validations:
    - expression: object.metadata.annotations['owner'] != ''
`, /no such key: annotations/, /annotations/],
};

export const misfireCases = Object.fromEntries(Object.entries(misfires).map(([name, [text, ...causes]]) => [
  `explains without a click: ${name}`,
  async ({ browser, address }) => {
    const page = await openPage(browser, address, { fragment: fragmentOf([rules(text), objects(deployment)]) });
    await judged(page);
    await page.waitForSelector(".row.open, .problems .row");
    const seen = await page.evaluate(() => {
      const column = document.querySelector(".outcome .scroll").getBoundingClientRect();
      const parts = [...document.querySelectorAll(".outcomes .reason, .outcomes .help, .outcomes .cause, .outcomes .node, .outcomes .message")];
      return parts.filter((part) => part.getBoundingClientRect().bottom <= column.bottom).map((part) => part.textContent).join("\n");
    });
    for (const cause of causes) assert.match(seen, cause);
    await closePage(page);
  },
]));
