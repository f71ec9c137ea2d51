package main

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// The length after which rendering ends.
const maxOutput = 4 << 20

type limitedOutput struct{ strings.Builder }

func (output *limitedOutput) Write(text []byte) (int, error) {
	if output.Len()+len(text) > maxOutput {
		return 0, errors.New("the output is too long")
	}
	return output.Builder.Write(text)
}

// renderTemplate renders a template of a ModRule: the functions of Sprig without those that read the environment.
func renderTemplate(text string, data any) (any, error) {
	functions := sprig.TxtFuncMap()
	delete(functions, "env")
	delete(functions, "expandenv")
	delete(functions, "getHostByName")
	parsed, err := template.New("t").Funcs(functions).Parse(text)
	if err != nil {
		return nil, err
	}
	var output limitedOutput
	if err := parsed.Execute(&output, templateContext(data)); err != nil {
		return nil, err
	}
	return output.String(), nil
}

// templateContext returns data as a struct with its keys as fields, which is what KubeMod gives its templates.
func templateContext(data any) any {
	values, ok := data.(map[string]any)
	if !ok {
		return data
	}
	names := slices.Sorted(maps.Keys(values))
	fields := make([]reflect.StructField, len(names))
	for index, name := range names {
		fields[index] = reflect.StructField{Name: name, Type: reflect.TypeFor[any]()}
	}
	made := reflect.New(reflect.StructOf(fields)).Elem()
	for index, name := range names {
		if value := values[name]; value != nil {
			made.Field(index).Set(reflect.ValueOf(value))
		}
	}
	return made.Interface()
}
