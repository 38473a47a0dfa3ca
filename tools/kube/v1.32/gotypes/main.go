// Command gotypes prints the Go types behind the API's schemas: definition → field → type.
//
// An API server reads and writes objects through these structs, which shows in what it answers: in the words it has for a
// value of the wrong type, and in the empty values that it leaves out. OpenAPI does not tell. A "!" after a type marks a
// field that is written even when it is empty.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

type types map[string]map[string]string

func main() {
	all := runtime.NewScheme()
	must(scheme.AddToScheme(all))
	must(apiextensions.AddToScheme(all))
	found := types{}
	for kind, goType := range all.AllKnownTypes() {
		if kind.Version != runtime.APIVersionInternal {
			found.add(goType)
		}
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	must(encoder.Encode(found))
}

func (found types) add(goType reflect.Type) {
	switch goType.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		found.add(goType.Elem())
	case reflect.Struct:
		name := definition(goType)
		if _, known := found[name]; !known && goType.Name() != "" {
			found[name] = map[string]string{}
			found.addFields(found[name], goType)
		}
	}
}

func (found types) addFields(fields map[string]string, goType reflect.Type) {
	for i := range goType.NumField() {
		field := goType.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct:
			found.addFields(fields, field.Type)
		case name != "" && name != "-":
			fields[name] = field.Type.String()
			if !strings.Contains(options, "omitempty") {
				fields[name] += "!"
			}
			found.add(field.Type)
		}
	}
}

// definition is the name of a type's schema in the OpenAPI documents.
func definition(goType reflect.Type) string {
	host, path, _ := strings.Cut(goType.PkgPath(), "/")
	parts := strings.Split(host, ".")
	slices.Reverse(parts)
	return strings.Join(parts, ".") + "." + strings.ReplaceAll(path, "/", ".") + "." + goType.Name()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
