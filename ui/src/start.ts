// What the page shows when it is opened without a link: a rule that fails, so that there is a reason to read.
import type { TextFile } from "./api";

const rules = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: fixed-tags
spec:
  validationFailureAction: Enforce
  rules:
    - name: no-latest
      match:
        any:
          - resources:
              kinds: [Pod]
      validate:
        message: "pin the version of the image"
        pattern:
          spec:
            containers:
              - image: "*:* & !*:latest"
`;

const objects = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: nginx
          image: nginx:latest
        - name: log-shipper
          image: fluent-bit:3.1
`;

export const startFiles: TextFile[] = [
  { name: "rules.yaml", role: "rules", text: rules },
  { name: "objects.yaml", role: "objects", text: objects },
];
