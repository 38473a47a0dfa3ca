// Command gofilled prints objects with their fields filled at random: in protobuf and in JSON, as Kubernetes' own code writes
// them. One line an object: {"protobuf": base64, "json": object}.
//
//	go run ./gofilled SEED OBJECTS-A-KIND v1/Pod apps/v1/Deployment ...
package main

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

var (
	words      = []string{"", "a", "main", "zürich", "漢字", "😀", "\"<&>\"", "line\nbreak", "a-much-longer-text-that-needs-two-bytes-for-its-length-because-it-has-more-than-one-hundred-and-twenty-seven-bytes-in-all-of-itself"}
	numbers    = []int64{0, 1, -1, 127, 128, 300, 65535, -2147483648, 2147483647, 9223372036854775807, -9223372036854775808}
	fractions  = []float64{0, 1, -1, 0.5, 1e-9, 1e20, 1e21, 1.7976931348623157e308, 123456789.25}
	quantities = []string{"0", "1", "100m", "1500m", "1.5", "2Gi", "0.5Gi", "1e3", "12345678901234567890", "-3", "1n", "10E"}
	documents  = []string{`{}`, `{"a":null,"b":[1,2.5,"x",true]}`, `"text"`, `17`, `[]`, `{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`}
)

type filler struct{ *rand.Rand }

func main() {
	seed, _ := strconv.ParseInt(os.Args[1], 10, 64)
	count, _ := strconv.Atoi(os.Args[2])
	all := runtime.NewScheme()
	must(scheme.AddToScheme(all))
	must(apiextensions.AddToScheme(all))
	serializer := protobuf.NewSerializer(all, all)
	random := filler{rand.New(rand.NewSource(seed))}
	output := json.NewEncoder(os.Stdout)
	for _, wanted := range os.Args[3:] {
		cut := strings.LastIndex(wanted, "/")
		kind := schema.FromAPIVersionAndKind(wanted[:cut], wanted[cut+1:])
		for range count {
			object, err := all.New(kind)
			must(err)
			random.fill(reflect.ValueOf(object).Elem(), 0)
			object.GetObjectKind().SetGroupVersionKind(kind)
			encoded := bytes.Buffer{}
			must(serializer.Encode(object, &encoded))
			must(output.Encode(map[string]any{"protobuf": encoded.Bytes(), "json": object}))
		}
	}
}

func (random filler) fill(value reflect.Value, depth int) {
	if value.CanAddr() && random.special(value.Addr().Interface(), depth) {
		return
	}
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			if field := value.Type().Field(i); field.IsExported() && field.Name != "TypeMeta" {
				random.fill(value.Field(i), depth+1)
			}
		}
	case reflect.Pointer:
		if random.goOn(depth) {
			value.Set(reflect.New(value.Type().Elem()))
			random.fill(value.Elem(), depth+1)
		}
	case reflect.Slice:
		random.slice(value, depth)
	case reflect.Map:
		random.table(value, depth)
	case reflect.String:
		value.SetString(words[random.Intn(len(words))])
	case reflect.Bool:
		value.SetBool(random.Intn(2) == 0)
	case reflect.Int32, reflect.Int64:
		value.SetInt(int64(numbers[random.Intn(len(numbers))]))
	case reflect.Float64:
		value.SetFloat(fractions[random.Intn(len(fractions))])
	}
}

// goOn is certain at the top and ever less likely further down: every struct is reached, and no object grows without end.
func (random filler) goOn(depth int) bool {
	return depth < 14 && random.Intn(depth+6) < 6
}

// slice leaves none empty, which protobuf could not say, but for bytes, whose JSON is the same then.
func (random filler) slice(value reflect.Value, depth int) {
	if value.Type().Elem().Kind() == reflect.Uint8 {
		some := make([]byte, random.Intn(5))
		random.Read(some)
		value.SetBytes(some)
		return
	}
	for random.goOn(depth) && value.Len() < 3 {
		item := reflect.New(value.Type().Elem()).Elem()
		random.fill(item, depth+1)
		value.Set(reflect.Append(value, item))
	}
}

func (random filler) table(value reflect.Value, depth int) {
	for random.goOn(depth) && value.Len() < 2 {
		if value.IsNil() {
			value.Set(reflect.MakeMap(value.Type()))
		}
		key, item := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
		random.fill(key, depth+1)
		random.fill(item, depth+1)
		value.SetMapIndex(key, item)
	}
}

// special fills what has a form of its own in JSON.
func (random filler) special(value any, depth int) bool {
	switch value := value.(type) {
	case *meta.Time:
		value.Time = random.time()
	case *meta.MicroTime:
		value.Time = random.time().Add(time.Duration(random.Intn(1000000)) * time.Microsecond)
	case *resource.Quantity:
		*value = resource.MustParse(quantities[random.Intn(len(quantities))])
	case *intstr.IntOrString:
		*value = intstr.FromInt32(int32(random.Intn(70000)))
		if random.Intn(2) == 0 {
			*value = intstr.FromString(words[random.Intn(len(words))])
		}
	case *runtime.RawExtension:
		value.Raw = random.document()
	case *meta.FieldsV1:
		value.Raw = random.document()
	case *apiextensions.JSON:
		value.Raw = random.document()
	case *apiextensions.JSONSchemaPropsOrBool:
		value.Allows = random.Intn(2) == 0
		random.fill(reflect.ValueOf(&value.Schema).Elem(), depth+1)
	default:
		return false
	}
	return true
}

func (random filler) time() time.Time {
	if random.Intn(4) == 0 {
		return time.Time{}
	}
	return time.Unix(random.Int63n(253402300799+62135596800)-62135596800, 0)
}

func (random filler) document() []byte {
	return []byte(documents[random.Intn(len(documents))])
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
