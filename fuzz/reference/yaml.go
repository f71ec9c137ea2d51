package main

import (
	"encoding/json"

	"sigs.k8s.io/yaml"
)

// readYAML reads the first document of a text.
func readYAML(text string, _ any) (any, error) {
	written, err := yaml.YAMLToJSON([]byte(text))
	return json.RawMessage(written), err
}
