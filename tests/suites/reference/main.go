// Command reference reads texts as the Kubernetes tools do, for comparison. Standard input has one JSON object a line,
// {"name", "format", "text"} with the text in hexadecimal digits; standard output has {"name", "json"} or {"name", "error"} for each.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

type question struct {
	Name   string `json:"name"`
	Format string `json:"format"`
	Text   string `json:"text"`
}

type answer struct {
	Name  string          `json:"name"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Error string          `json:"error,omitempty"`
}

// read returns the first document of a YAML text, or a JSON text, as JSON.
func read(asked question) (result json.RawMessage, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	text, err := hex.DecodeString(asked.Text)
	if err != nil {
		return nil, err
	}
	if asked.Format == "yaml" {
		return yaml.YAMLToJSONStrict(text)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	output := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		result, err := read(asked)
		said := answer{Name: asked.Name, JSON: result}
		if err != nil {
			said = answer{Name: asked.Name, Error: err.Error()}
		}
		if err := output.Encode(said); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
}
