// Command goencoding prints the Go types of the built-in kinds, as far as they decide how an object is encoded: the file
// src/traincrew/embedded/apiserver/registry/builtin/go_types.json. The docstring of go_encoding.py beside it explains the letters.
//
//	go run ./goencoding
package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authn "k8s.io/api/authentication/v1"
	authz "k8s.io/api/authorization/v1"
	asv1 "k8s.io/api/autoscaling/v1"
	asv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	netv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var shapes = map[string]map[string]string{}
var names = map[reflect.Type]string{}
var used = map[string]int{}

// letter returns the notation of a type: see the docstring of go_encoding.py.
func letter(t reflect.Type) string {
	switch t {
	case reflect.TypeOf(resource.Quantity{}):
		return "q"
	case reflect.TypeOf(metav1.Time{}):
		return "t"
	case reflect.TypeOf(metav1.MicroTime{}):
		return "u"
	case reflect.TypeOf(metav1.FieldsV1{}), reflect.TypeOf(runtime.RawExtension{}):
		return "x"
	}
	if t == reflect.TypeOf(intstr.IntOrString{}) {
		return "o"
	}
	switch t.Kind() {
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	case reflect.Int32, reflect.Int64, reflect.Int, reflect.Float64:
		return "i"
	case reflect.Ptr:
		return "*" + letter(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "y"
		}
		return "[" + letter(t.Elem())
	case reflect.Map:
		return "{" + letter(t.Elem())
	case reflect.Struct:
		return ":" + shape(t)
	}
	panic(fmt.Sprint("kind ", t))
}

func fields(t reflect.Type, into map[string]string) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("json")
		if !ok || tag == "-" {
			continue
		}
		parts := strings.Split(tag, ",")
		if parts[0] == "" {
			fields(f.Type, into)
			continue
		}
		mark := ""
		for _, p := range parts[1:] {
			if p == "omitempty" {
				mark = "?"
			}
		}
		into[parts[0]] = mark + letter(f.Type)
	}
}

func shape(t reflect.Type) string {
	if n, ok := names[t]; ok {
		return n
	}
	n := t.Name()
	if used[n] > 0 {
		p := strings.Split(t.PkgPath(), "/")
		n = strings.Join(p[len(p)-2:], "/") + "." + n
	}
	used[n]++
	names[t] = n
	m := map[string]string{}
	shapes[n] = m
	fields(t, m)
	return n
}

func main() {
	roots := map[string]any{
		"v1/Pod": corev1.Pod{}, "v1/Service": corev1.Service{}, "v1/ConfigMap": corev1.ConfigMap{}, "v1/Secret": corev1.Secret{},
		"v1/ServiceAccount": corev1.ServiceAccount{}, "v1/Namespace": corev1.Namespace{}, "v1/Event": corev1.Event{}, "v1/Node": corev1.Node{},
		"v1/PersistentVolume": corev1.PersistentVolume{}, "v1/PersistentVolumeClaim": corev1.PersistentVolumeClaim{}, "v1/Endpoints": corev1.Endpoints{},
		"v1/LimitRange": corev1.LimitRange{}, "v1/ResourceQuota": corev1.ResourceQuota{}, "v1/ReplicationController": corev1.ReplicationController{},
		"v1/Binding":             corev1.Binding{},
		"events.k8s.io/v1/Event": eventsv1.Event{}, "coordination.k8s.io/v1/Lease": coordv1.Lease{}, "batch/v1/Job": batchv1.Job{}, "batch/v1/CronJob": batchv1.CronJob{},
		"rbac.authorization.k8s.io/v1/Role": rbacv1.Role{}, "rbac.authorization.k8s.io/v1/RoleBinding": rbacv1.RoleBinding{},
		"rbac.authorization.k8s.io/v1/ClusterRole": rbacv1.ClusterRole{}, "rbac.authorization.k8s.io/v1/ClusterRoleBinding": rbacv1.ClusterRoleBinding{},
		"autoscaling/v2/HorizontalPodAutoscaler": asv2.HorizontalPodAutoscaler{}, "autoscaling/v1/HorizontalPodAutoscaler": asv1.HorizontalPodAutoscaler{}, "autoscaling/v1/Scale": asv1.Scale{},
		"scheduling.k8s.io/v1/PriorityClass": schedv1.PriorityClass{}, "apps/v1/Deployment": appsv1.Deployment{}, "apps/v1/ReplicaSet": appsv1.ReplicaSet{},
		"apps/v1/StatefulSet": appsv1.StatefulSet{}, "apps/v1/DaemonSet": appsv1.DaemonSet{}, "apps/v1/ControllerRevision": appsv1.ControllerRevision{},
		"storage.k8s.io/v1/StorageClass": storagev1.StorageClass{}, "storage.k8s.io/v1/CSIDriver": storagev1.CSIDriver{}, "storage.k8s.io/v1/CSINode": storagev1.CSINode{}, "storage.k8s.io/v1/VolumeAttachment": storagev1.VolumeAttachment{},
		"discovery.k8s.io/v1/EndpointSlice": discv1.EndpointSlice{}, "policy/v1/PodDisruptionBudget": policyv1.PodDisruptionBudget{}, "policy/v1/Eviction": policyv1.Eviction{},
		"networking.k8s.io/v1/NetworkPolicy": netv1.NetworkPolicy{}, "networking.k8s.io/v1/Ingress": netv1.Ingress{}, "networking.k8s.io/v1/IngressClass": netv1.IngressClass{},
		"node.k8s.io/v1/RuntimeClass":           nodev1.RuntimeClass{},
		"authentication.k8s.io/v1/TokenRequest": authn.TokenRequest{}, "authentication.k8s.io/v1/TokenReview": authn.TokenReview{}, "authentication.k8s.io/v1/SelfSubjectReview": authn.SelfSubjectReview{},
		"authorization.k8s.io/v1/SubjectAccessReview": authz.SubjectAccessReview{}, "authorization.k8s.io/v1/SelfSubjectAccessReview": authz.SelfSubjectAccessReview{},
		"authorization.k8s.io/v1/LocalSubjectAccessReview": authz.LocalSubjectAccessReview{}, "authorization.k8s.io/v1/SelfSubjectRulesReview": authz.SelfSubjectRulesReview{},
	}
	keys := []string{}
	for k := range roots {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	out := map[string]string{}
	for _, k := range keys {
		out[k] = shape(reflect.TypeOf(roots[k]))
	}
	write("kinds", out, ",")
	fmt.Println("\"structs\": {")
	lines := []string{}
	for name, fields := range shapes {
		lines = append(lines, quoted(name)+": "+quoted(fields))
	}
	sort.Strings(lines)
	fmt.Println(strings.Join(lines, ",\n") + "\n}\n}")
}

func write(name string, value any, end string) {
	fmt.Println("{\n" + quoted(name) + ": " + quoted(value) + end)
}

func quoted(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}
