"""The edits of corpus.py's objects, by kind."""

CREATES = {
    "Pod": """
spec.restartPolicy = "Sometimes"
spec.restartPolicy = "Never"
spec.dnsPolicy = "X"
spec.dnsPolicy = "None"
spec.dnsPolicy = "None" ; spec.dnsConfig = {}
spec.dnsPolicy = "None" ; spec.dnsConfig = {"nameservers": ["1.2.3.4"], "searches": ["a.b", "A B"], "options": [{"name": ""}]}
spec.dnsConfig = {"nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"]}
spec.dnsConfig = {"nameservers": ["x"]}
spec.terminationGracePeriodSeconds = -5
spec.terminationGracePeriodSeconds = 0
spec.activeDeadlineSeconds = 0
spec.activeDeadlineSeconds = 10
spec.activeDeadlineSeconds = 99999999999
spec.hostNetwork = true
spec.hostNetwork = true ; spec.containers[0].ports[0].hostPort = 81
spec.hostPID = true ; spec.shareProcessNamespace = true
spec.hostUsers = false
spec.hostname = "a.b"
spec.hostname = "Up"
spec.subdomain = "x_y"
spec.nodeName = "N_1"
spec.nodeName = "n1"
spec.nodeName = "n1" ; spec.schedulingGates = [{"name": "g"}]
spec.schedulingGates = [{"name": "g"}]
spec.schedulingGates = [{"name": "g"}, {"name": "g"}]
spec.schedulingGates = [{"name": "a b"}]
spec.readinessGates = [{"conditionType": "a b"}]
spec.readinessGates = [{"conditionType": "example.com/x"}]
spec.serviceAccountName = "sa"
spec.serviceAccount = "sa"
spec.serviceAccountName = "S A"
spec.automountServiceAccountToken = false
spec.nodeSelector = {"a b": "c d"}
spec.nodeSelector = {}
spec.nodeSelector = {"beta.kubernetes.io/os": "linux"}
spec.imagePullSecrets = [{"name": "s"}, {"name": "s"}, {}]
spec.hostAliases = [{"ip": "1.2.3.4", "hostnames": ["h"]}]
spec.hostAliases = [{"ip": "x", "hostnames": ["H"]}]
spec.hostAliases = [{"ip": "010.0.0.1"}]
spec.priorityClassName = "nosuch"
spec.priorityClassName = "system-node-critical"
spec.priority = 5
spec.priority = 0
spec.preemptionPolicy = "Never"
spec.preemptionPolicy = "X"
spec.runtimeClassName = "nosuch"
spec.overhead = {"cpu": "1"}
spec.os = {"name": "linux"}
spec.os = {"name": "mac"}
spec.os = {"name": ""}
spec.enableServiceLinks = false
spec.schedulerName = "mine"
spec.setHostnameAsFQDN = true
spec.resources = {"limits": {"cpu": "1"}}
spec.resourceClaims = [{"name": "c", "resourceClaimName": "x"}]
spec.containers = []
spec.containers! 
spec.containers[0].name = ""
spec.containers[0].name = "a.b"
spec.containers[0].name = "UP"
spec.containers[0].name = "first"
spec.containers[0].name!
spec.containers[0].image = ""
spec.containers[0].image = " busybox"
spec.containers[0].image = "busybox:latest"
spec.containers[0].image = "busybox:1.2"
spec.containers[0].image = "localhost:5000/a/b"
spec.containers[0].image = "localhost:5000/a/b:x"
spec.containers[0].image = "UPPER/case"
spec.containers[0].image = "a/UPPER"
spec.containers[0].image = "busybox@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
spec.containers[0].image = "::::"
spec.containers[0].image = "gcr.io/x"
spec.containers[0].imagePullPolicy = "X"
spec.containers[0].imagePullPolicy = "Never"
spec.containers[0].terminationMessagePolicy = "X"
spec.containers[0].terminationMessagePolicy = "FallbackToLogsOnError" ; spec.containers[0].terminationMessagePath = "/x"
spec.containers[0].command = []
spec.containers[0].stdin = true ; spec.containers[0].tty = true
spec.containers[0].stdin = false
spec.containers[0].workingDir = ""
spec.containers[0].restartPolicy = "Always"
spec.containers[0].resizePolicy = [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
spec.containers[1] = {"name": "main", "image": "x"}
spec.containers[1] = {"name": "side", "image": "x"}
spec.containers[0].env = [{"name": "A"}, {"name": "A", "value": "2"}]
spec.containers[0].env = [{"name": ""}]
spec.containers[0].env = [{"name": "A=B"}]
spec.containers[0].env = [{"name": "1 A"}]
spec.containers[0].env = [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
spec.containers[0].env = [{"name": "A", "valueFrom": {}}]
spec.containers[0].env = [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nope"}}}]
spec.containers[0].env = [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}]
spec.containers[0].env = [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['x y']"}}}]
spec.containers[0].env = [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['x']"}}}]
spec.containers[0].env = [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.x['x']"}}}]
spec.containers[0].env = [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": ""}}}]
spec.containers[0].env = [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v2"}}}]
spec.containers[0].env = [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]
spec.containers[0].env = [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}}}]
spec.containers[0].env = [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}}]
spec.containers[0].env = [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "3Mi"}}}]
spec.containers[0].env = [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.x"}}}]
spec.containers[0].env = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "S", "key": ""}}}]
spec.containers[0].env = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "s", "key": "a b", "optional": false}}}]
spec.containers[0].envFrom = [{"prefix": "A=", "configMapRef": {"name": "c"}}]
spec.containers[0].envFrom = [{"configMapRef": {"name": ""}}]
spec.containers[0].envFrom = [{"configMapRef": {"name": "c"}, "secretRef": {"name": "s"}}]
spec.containers[0].envFrom = [{}]
spec.containers[0].ports = [{"containerPort": 0}]
spec.containers[0].ports = [{"containerPort": 70000, "hostPort": 70000, "protocol": "X"}]
spec.containers[0].ports = [{"containerPort": 80, "name": "UP"}]
spec.containers[0].ports = [{"containerPort": 80, "name": "a--b-"}]
spec.containers[0].ports = [{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}]
spec.containers[0].ports = [{"containerPort": 80}, {"containerPort": 80}]
spec.containers[0].ports = [{"containerPort": 80, "hostPort": 80}, {"containerPort": 81, "hostPort": 80}]
spec.containers[0].resources = {"limits": {"cpu": "0.1234567", "memory": "1.5Gi"}}
spec.containers[0].resources = {"limits": {"cpu": 2, "memory": 1000000000}}
spec.containers[0].resources = {"limits": {"cpu": "1e3", "memory": "1E"}}
spec.containers[0].resources = {"limits": {"memory": "0.5"}}
spec.containers[0].resources = {"limits": {"memory": "1025Ki", "cpu": "1500m"}}
spec.containers[0].resources = {"limits": {"memory": "1000Ki", "cpu": "1000000u"}}
spec.containers[0].resources = {"limits": {"cpu": "-1"}}
spec.containers[0].resources = {"limits": {"pods": "1"}}
spec.containers[0].resources = {"limits": {"foo": "1"}}
spec.containers[0].resources = {"limits": {"foo bar": "1"}}
spec.containers[0].resources = {"limits": {"example.com/gpu": "1"}}
spec.containers[0].resources = {"limits": {"example.com/gpu": "0.5"}}
spec.containers[0].resources = {"requests": {"example.com/gpu": "1"}}
spec.containers[0].resources = {"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "1"}}
spec.containers[0].resources = {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}
spec.containers[0].resources = {"limits": {"hugepages-2Mi": "4Mi"}}
spec.containers[0].resources = {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}}
spec.containers[0].resources = {"limits": {"kubernetes.io/x": "1"}}
spec.containers[0].resources = {"limits": {}, "requests": {}}
spec.containers[0].resources = {"requests": {"cpu": "0"}}
spec.containers[0].resources = {"limits": {"cpu": "1", "memory": "1Gi"}} ; spec.initContainers!
spec.containers[0].livenessProbe = {}
spec.containers[0].livenessProbe = {"exec": {"command": []}}
spec.containers[0].livenessProbe = {"exec": {"command": ["a"]}, "httpGet": {"port": 80}}
spec.containers[0].livenessProbe = {"httpGet": {"port": "http", "httpHeaders": [{"name": "a b", "value": "c"}]}}
spec.containers[0].livenessProbe = {"httpGet": {"port": 0, "scheme": "FTP"}}
spec.containers[0].livenessProbe = {"httpGet": {"port": "80"}, "periodSeconds": -1}
spec.containers[0].livenessProbe = {"tcpSocket": {"port": 80}, "successThreshold": 2}
spec.containers[0].livenessProbe = {"grpc": {"port": 80}}
spec.containers[0].readinessProbe = {"tcpSocket": {"port": 80}, "terminationGracePeriodSeconds": 5}
spec.containers[0].startupProbe = {"tcpSocket": {"port": 80}, "terminationGracePeriodSeconds": 0}
spec.containers[0].startupProbe = {"tcpSocket": {"port": 80}, "initialDelaySeconds": 3}
spec.containers[0].lifecycle = {"preStop": {"exec": {"command": ["a"]}}}
spec.containers[0].lifecycle = {"preStop": {"sleep": {"seconds": 50}}, "postStart": {}}
spec.containers[0].lifecycle = {"preStop": {"httpGet": {"port": 80}}}
spec.containers[0].securityContext = {}
spec.containers[0].securityContext = {"runAsUser": -1, "runAsGroup": 99999999999}
spec.containers[0].securityContext = {"privileged": true, "allowPrivilegeEscalation": false}
spec.containers[0].securityContext = {"seccompProfile": {"type": "X"}}
spec.containers[0].securityContext = {"seccompProfile": {"type": "Localhost"}}
spec.containers[0].securityContext = {"seccompProfile": {"type": "Localhost", "localhostProfile": "/a/.."}}
spec.containers[0].securityContext = {"appArmorProfile": {"type": "Localhost"}}
spec.containers[0].securityContext = {"appArmorProfile": {"type": "Unconfined"}}
spec.containers[0].securityContext = {"procMount": "Unmasked", "capabilities": {"add": ["X"]}}
spec.securityContext = {"runAsUser": -1, "fsGroup": -1, "supplementalGroups": [-1]}
spec.securityContext = {"runAsUser": 0, "fsGroup": 0}
spec.securityContext = {"fsGroupChangePolicy": "X", "seccompProfile": {"type": ""}}
spec.securityContext = {"sysctls": [{"name": "", "value": ""}, {"name": "A", "value": ""}, {"name": "kernel.x", "value": "1"}, {"name": "kernel.x", "value": "1"}]}
spec.securityContext = {"supplementalGroupsPolicy": "Strict", "seLinuxChangePolicy": "Recursive"}
spec.containers[0].volumeMounts = [{"name": "nope", "mountPath": "/x"}]
spec.containers[0].volumeMounts = [{"name": "data", "mountPath": ""}]
spec.containers[0].volumeMounts = [{"name": "data", "mountPath": "/x"}, {"name": "data", "mountPath": "/x"}]
spec.containers[0].volumeMounts = [{"name": "data", "mountPath": "/x", "subPath": "/a/../b"}]
spec.containers[0].volumeMounts = [{"name": "data", "mountPath": "/x", "subPath": "a", "subPathExpr": "b"}]
spec.containers[0].volumeMounts = [{"name": "data", "mountPath": "/x", "mountPropagation": "Bidirectional"}]
spec.containers[0].volumeMounts = [{"name": "data", "mountPath": "/x", "mountPropagation": "X", "readOnly": false}]
spec.containers[0].volumeMounts = [{"name": "data", "mountPath": "/x", "recursiveReadOnly": "Enabled"}]
spec.containers[0].volumeDevices = [{"name": "data", "devicePath": "/dev/x"}]
spec.containers[0].volumeDevices = [{"name": "nope", "devicePath": "/../x"}]
spec.volumes = []
spec.volumes[1] = {"name": "data", "emptyDir": {}}
spec.volumes[1] = {"name": "A", "emptyDir": {}}
spec.volumes[1] = {"name": "", "emptyDir": {}}
spec.volumes[1] = {"name": "v"}
spec.volumes[1] = {"name": "v", "emptyDir": {"sizeLimit": "1024Mi", "medium": "Memory"}}
spec.volumes[1] = {"name": "v", "emptyDir": {"sizeLimit": "-1"}}
spec.volumes[1] = {"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}
spec.volumes[1] = {"name": "v", "hostPath": {"path": "/x"}}
spec.volumes[1] = {"name": "v", "hostPath": {"path": "/x/../y", "type": "X"}}
spec.volumes[1] = {"name": "v", "hostPath": {"path": "", "type": "Directory"}}
spec.volumes[1] = {"name": "v", "secret": {"secretName": "s", "items": [{"key": "a", "path": "b", "mode": 511}]}}
spec.volumes[1] = {"name": "v", "secret": {"defaultMode": 5000, "items": [{"key": "", "path": "../b", "mode": 5000}]}}
spec.volumes[1] = {"name": "v", "configMap": {"name": "c"}}
spec.volumes[1] = {"name": "v", "configMap": {"items": [{"key": "k", "path": "/abs"}, {"key": "k", "path": "..x"}]}}
spec.volumes[1] = {"name": "v", "persistentVolumeClaim": {"claimName": ""}}
spec.volumes[1] = {"name": "v", "persistentVolumeClaim": {"claimName": "c", "readOnly": false}}
spec.volumes[1] = {"name": "v", "nfs": {"server": "", "path": "x"}}
spec.volumes[1] = {"name": "v", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}}
spec.volumes[1] = {"name": "v", "downwardAPI": {"items": [{"path": "l", "resourceFieldRef": {"resource": "limits.cpu"}}]}}
spec.volumes[1] = {"name": "v", "downwardAPI": {"items": [{"path": "l", "resourceFieldRef": {"resource": "limits.cpu", "containerName": "main"}}]}}
spec.volumes[1] = {"name": "v", "downwardAPI": {"items": [{"path": ""}]}}
spec.volumes[1] = {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}} ; spec.serviceAccountName = "x"
spec.volumes[1] = {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 5}}]}}
spec.volumes[1] = {"name": "v", "projected": {"sources": [{"secret": {"name": "s", "items": [{"key": "a", "path": "p"}]}}, {"configMap": {"name": "c", "items": [{"key": "a", "path": "p"}]}}]}}
spec.volumes[1] = {"name": "v", "projected": {"sources": [{"secret": {}, "configMap": {}}]}}
spec.volumes[1] = {"name": "v", "projected": {}}
spec.volumes[1] = {"name": "v", "ephemeral": {}}
spec.volumes[1] = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}}
spec.volumes[1] = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"metadata": {"name": "x"}, "spec": {}}}}
spec.volumes[1] = {"name": "v", "gitRepo": {"repository": "x"}}
spec.volumes[1] = {"name": "v", "csi": {"driver": "d.example.com"}}
spec.volumes[1] = {"name": "v", "rbd": {"monitors": ["m"], "image": "i"}}
spec.volumes[1] = {"name": "v", "iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:storage", "lun": 0}}
spec.initContainers[0].name = "main"
spec.initContainers[0].restartPolicy = "Always"
spec.initContainers[0].restartPolicy = "X"
spec.initContainers[0].livenessProbe = {"tcpSocket": {"port": 80}}
spec.initContainers[0].restartPolicy = "Always" ; spec.initContainers[0].livenessProbe = {"tcpSocket": {"port": 80}}
spec.initContainers[0].lifecycle = {"preStop": {"exec": {"command": ["x"]}}}
spec.initContainers[0].resources = {"limits": {"cpu": "1"}}
spec.ephemeralContainers = [{"name": "e", "image": "x"}]
spec.affinity = {}
spec.affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
spec.affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a b", "operator": "In"}, {"key": "a", "operator": "X"}, {"key": "a", "operator": "Gt", "values": ["1", "2"]}, {"key": "a", "operator": "Exists", "values": ["1"]}], "matchFields": [{"key": "x", "operator": "Exists"}, {"key": "metadata.name", "operator": "In", "values": ["A"]}]}]}}}
spec.affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}]}}
spec.affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "k", "labelSelector": {"matchLabels": {"a": "b"}}}]}}
spec.affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "", "labelSelector": {"matchExpressions": [{"key": "", "operator": "X"}]}, "namespaces": ["A"]}]}}
spec.affinity = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 500, "podAffinityTerm": {"topologyKey": "k"}}]}}
spec.affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "k", "labelSelector": {}, "matchLabelKeys": ["app"]}]}}
spec.affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "k", "matchLabelKeys": ["app"]}]}}
spec.tolerations = [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}]
spec.tolerations = [{"operator": "Exists"}]
spec.tolerations = [{}]
spec.tolerations = [{"key": "a b", "operator": "X", "effect": "Y", "value": "c d"}]
spec.tolerations = [{"key": "a", "operator": "Exists", "value": "v"}, {"key": "a", "value": "b c"}]
spec.tolerations = [{"key": "a", "tolerationSeconds": 5, "effect": "NoSchedule"}]
spec.tolerations = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}]
spec.topologySpreadConstraints = [{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "X"}]
spec.topologySpreadConstraints = [{"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "DoNotSchedule"}, {"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "DoNotSchedule"}]
spec.topologySpreadConstraints = [{"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 0, "nodeAffinityPolicy": "X", "matchLabelKeys": ["a"]}]
metadata.annotations = {"controller.kubernetes.io/pod-deletion-cost": "x"}
metadata.annotations = {"controller.kubernetes.io/pod-deletion-cost": "10"}
metadata.annotations = {"kubernetes.io/config.mirror": "x"}
status = {"phase": "Running", "podIP": "1.2.3.4"}
""",
    "Service": """
spec.type = "NodePort"
spec.type = "LoadBalancer"
spec.type = "LoadBalancer" ; spec.externalTrafficPolicy = "Local"
spec.type = "ExternalName"
spec.type = "ExternalName" ; spec.externalName = "a.b." ; spec.ports!
spec.type = "ExternalName" ; spec.externalName = "A B"
spec.type = "X"
spec.type = "NodePort" ; spec.ports[0].nodePort = 5
spec.type = "NodePort" ; spec.ports = [{"port": 1, "name": "a", "protocol": "TCP"}, {"port": 1, "name": "b", "protocol": "UDP"}]
spec.ports[0].nodePort = 30100
spec.clusterIP = "None"
spec.clusterIP = "None" ; spec.selector!
spec.clusterIP = "None" ; spec.ports!
spec.clusterIP = "None" ; spec.type = "NodePort"
spec.clusterIP = "x"
spec.clusterIP = "8.8.8.8"
spec.clusterIP = "10.100.1.1"
spec.clusterIP = "10.100.1.2" ; spec.clusterIPs = ["10.100.1.3"]
spec.clusterIPs = ["10.100.1.3"]
spec.clusterIP = "10.100.1.4" ; spec.clusterIPs = ["10.100.1.4", "10.100.1.5"]
spec.ports!
spec.ports = []
spec.ports = [{"port": 80}, {"port": 81}]
spec.ports = [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]
spec.ports = [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]
spec.ports[0].port = 0
spec.ports[0].port = 70000
spec.ports[0].protocol = "X"
spec.ports[0].targetPort = "http"
spec.ports[0].targetPort = "UP"
spec.ports[0].targetPort = 0
spec.ports[0].targetPort = 70000
spec.ports[0].name = "A"
spec.ports[0].appProtocol = "a b"
spec.ports[0].appProtocol = "http"
spec.selector = {"a b": "c"}
spec.sessionAffinity = "ClientIP"
spec.sessionAffinity = "ClientIP" ; spec.sessionAffinityConfig = {"clientIP": {"timeoutSeconds": 0}}
spec.sessionAffinity = "X"
spec.externalIPs = ["1.2.3.4"]
spec.externalIPs = ["127.0.0.1", "x"]
spec.externalTrafficPolicy = "Local"
spec.internalTrafficPolicy = "Local"
spec.internalTrafficPolicy = "X"
spec.ipFamilyPolicy = "PreferDualStack"
spec.ipFamilyPolicy = "RequireDualStack"
spec.ipFamilyPolicy = "X"
spec.ipFamilies = ["IPv6"]
spec.ipFamilies = ["IPv4", "IPv4"]
spec.ipFamilies = ["IPv4", "IPv6"]
spec.healthCheckNodePort = 5
spec.loadBalancerSourceRanges = ["x"]
spec.type = "LoadBalancer" ; spec.loadBalancerSourceRanges = ["1.2.3.0/24"]
spec.loadBalancerClass = "a/b"
spec.type = "LoadBalancer" ; spec.loadBalancerClass = "a/b"
spec.type = "LoadBalancer" ; spec.allocateLoadBalancerNodePorts = false
spec.allocateLoadBalancerNodePorts = true
spec.trafficDistribution = "PreferClose"
spec.trafficDistribution = "X"
spec.publishNotReadyAddresses = false
spec.publishNotReadyAddresses = true
spec.externalName = "x"
""",
    "ConfigMap": """
data = {"a b": "c"}
data = {"..": "c", ".": "d", "..x": "e"}
data = {"c": "x"}
data = {}
binaryData = {"x y": "aGVsbG8="}
binaryData!
immutable = true
immutable = false
""",
    "Secret": """
type = "kubernetes.io/tls"
type = "kubernetes.io/tls" ; data = {"tls.crt": "", "tls.key": ""}
type = "kubernetes.io/dockerconfigjson"
type = "kubernetes.io/dockerconfigjson" ; data = {".dockerconfigjson": "e30="}
type = "kubernetes.io/basic-auth"
type = "kubernetes.io/basic-auth" ; data = {"username": "eA=="}
type = "kubernetes.io/ssh-auth"
type = "kubernetes.io/service-account-token"
type = "mine"
data = {"a b": ""}
stringData = {"a": "override"}
stringData = {} ; data = {}
stringData! ; data!
immutable = true
""",
    "ServiceAccount": """
secrets = [] ; imagePullSecrets = [{"name": "x"}]
automountServiceAccountToken = false
metadata.annotations = {"kubernetes.io/enforce-mountable-secrets": "true"}
""",
    "Namespace": """
spec = {"finalizers": ["example.com/x"]}
spec = {"finalizers": ["x"]}
status = {"phase": "Terminating"}
metadata.labels = {"kubernetes.io/metadata.name": "other"}
""",
    "Node": """
spec.taints = [{"key": "a b", "effect": "X", "value": "c d"}, {"key": "a"}]
spec.taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]
spec.podCIDR = "x"
spec.podCIDR! ; spec.podCIDRs = ["10.2.0.0/24"]
spec.unschedulable = true
spec.providerID = "p"
status.capacity = {"cpu": "-1"}
status.capacity = {"pods": "0.5"}
status.allocatable = {"cpu": "2"}
status.addresses = [{"type": "InternalIP", "address": "1.2.3.4"}]
status.conditions = [{"type": "Ready", "status": "True"}]
""",
    "Event": """
involvedObject.namespace = "other"
involvedObject.namespace!
eventTime = "2024-01-01T00:00:00.000001Z"
eventTime = "2024-01-01T00:00:00.000001Z" ; reportingComponent = "a b" ; reportingInstance = "i" ; action = "a"
eventTime = "2024-01-01T00:00:00.500000Z" ; reportingComponent = "c" ; reportingInstance = "i" ; action = "a"
firstTimestamp = "2024-01-01T02:00:00+02:00"
type = "X"
count! ; source!
""",
    "Lease": """
spec.leaseDurationSeconds = 0
spec.leaseTransitions = -1
spec.leaseTransitions = 0
spec.strategy = "OldestEmulationVersion" ; spec.preferredHolder = "x"
spec.renewTime = "2024-01-01T02:00:00.123456+02:00"
spec = {}
spec!
""",
    "Job": """
spec.completions = 3
spec.parallelism = 3
spec.parallelism = 0 ; spec.completions = 0
spec.parallelism = -1 ; spec.completions = -1 ; spec.backoffLimit = -1 ; spec.activeDeadlineSeconds = -1 ; spec.ttlSecondsAfterFinished = -1
spec.completionMode = "Indexed"
spec.completionMode = "Indexed" ; spec.completions = 3
spec.completionMode = "Indexed" ; spec.completions = 3 ; spec.backoffLimitPerIndex = 1 ; spec.maxFailedIndexes = 5
spec.completionMode = "Indexed" ; spec.completions = 3 ; spec.backoffLimitPerIndex = 1
spec.completionMode = "X"
spec.backoffLimitPerIndex = 1
spec.maxFailedIndexes = 1
spec.suspend = true
spec.manualSelector = true
spec.manualSelector = true ; spec.selector = {"matchLabels": {"a": "b"}} ; spec.template.metadata = {"labels": {"a": "b"}}
spec.manualSelector = true ; spec.selector = {"matchLabels": {"a": "b"}}
spec.selector = {"matchLabels": {"a": "b"}}
spec.template.metadata = {"labels": {"x": "y"}}
spec.template.metadata = {"labels": {"controller-uid": "y"}}
spec.template.metadata = {"labels": {"a b": "y"}}
spec.template.spec.restartPolicy!
spec.template.spec.restartPolicy = "Always"
spec.template.spec.restartPolicy = "X"
spec.template.spec.containers = []
spec.template.spec.containers[0].name = "A"
spec.template.spec.containers[0].resources = {"limits": {"cpu": "1"}}
spec.template.spec.ephemeralContainers = [{"name": "e", "image": "x"}]
spec.podFailurePolicy = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
spec.podFailurePolicy = {"rules": [{"action": "X", "onExitCodes": {"operator": "Y", "values": [3, 1, 1, 0], "containerName": "z"}}]}
spec.podFailurePolicy = {"rules": [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [0]}}]}
spec.podFailurePolicy = {"rules": [{"action": "FailJob"}]}
spec.podFailurePolicy = {"rules": [{"action": "", "onExitCodes": {"operator": "", "values": []}, "onPodConditions": [{"type": "a b", "status": "X"}]}]}
spec.podFailurePolicy = {"rules": []} ; spec.template.spec.restartPolicy = "OnFailure"
spec.podFailurePolicy = {"rules": []} ; spec.podReplacementPolicy = "TerminatingOrFailed"
spec.podReplacementPolicy = "Failed"
spec.podReplacementPolicy = "X"
spec.successPolicy = {"rules": [{"succeededCount": 1}]}
spec.completionMode = "Indexed" ; spec.completions = 3 ; spec.successPolicy = {"rules": [{"succeededCount": 1}]}
spec.completionMode = "Indexed" ; spec.completions = 3 ; spec.successPolicy = {"rules": [{"succeededIndexes": "0-1,5"}, {}]}
spec.completionMode = "Indexed" ; spec.completions = 3 ; spec.successPolicy = {"rules": [{"succeededIndexes": "0-1", "succeededCount": 3}]}
spec.completionMode = "Indexed" ; spec.completions = 3 ; spec.successPolicy = {"rules": []}
spec.managedBy = "a/b"
spec.managedBy = "x"
spec.ttlSecondsAfterFinished = 0
status = {"active": 1}
""",
    "CronJob": """
spec.schedule = ""
spec.schedule = "x"
spec.schedule = "@hourly"
spec.schedule = "@nope"
spec.schedule = "61 * * * *"
spec.schedule = "5-1 * * * *"
spec.schedule = "*/0 * * * *"
spec.schedule = "0 0 1 jan mon"
spec.schedule = "TZ=UTC 0 0 * * *"
spec.timeZone = "Europe/Berlin"
spec.timeZone = ""
spec.timeZone = "Local"
spec.concurrencyPolicy = "X"
spec.concurrencyPolicy = "Forbid"
spec.suspend = true
spec.successfulJobsHistoryLimit = -1 ; spec.failedJobsHistoryLimit = -1 ; spec.startingDeadlineSeconds = -1
spec.successfulJobsHistoryLimit = 0
spec.jobTemplate.spec.template.spec.restartPolicy!
spec.jobTemplate.spec.selector = {"matchLabels": {"a": "b"}}
spec.jobTemplate.spec.manualSelector = true
spec.jobTemplate.spec.backoffLimit = -1
metadata.name = "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeefffff"
""",
    "Deployment": """
spec.replicas = 0
spec.replicas = -1
spec.selector!
spec.selector = {}
spec.selector = {"matchLabels": {"a": "b"}}
spec.selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}
spec.selector = {"matchExpressions": [{"key": "app", "operator": "X"}]}
spec.strategy = {"type": "Recreate"}
spec.strategy = {"type": "Recreate", "rollingUpdate": {}}
spec.strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}
spec.strategy = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}
spec.strategy = {"rollingUpdate": {"maxUnavailable": "120%", "maxSurge": "x"}}
spec.strategy = {"rollingUpdate": {"maxUnavailable": -1}}
spec.minReadySeconds = -1
spec.minReadySeconds = 700
spec.progressDeadlineSeconds = 0
spec.revisionHistoryLimit = 0
spec.revisionHistoryLimit = -1
spec.paused = true
spec.template.spec.restartPolicy = "Never"
spec.template.spec.activeDeadlineSeconds = 5
spec.template.spec.containers[0].env = [{"name": "A"}, {"name": "A"}]
spec.template.spec.volumes = [{"name": "v"}]
spec.template.metadata.annotations = {"a b": ""}
""",
    "ReplicaSet": """
spec.replicas = -1
spec.selector!
spec.selector = {}
spec.template.spec.restartPolicy = "Never"
spec.minReadySeconds = 5
""",
    "StatefulSet": """
spec.podManagementPolicy = "Parallel"
spec.podManagementPolicy = "X"
spec.updateStrategy = {"type": "OnDelete"}
spec.updateStrategy = {"type": "RollingUpdate"}
spec.updateStrategy = {"rollingUpdate": {"partition": 2}}
spec.persistentVolumeClaimRetentionPolicy = {"whenDeleted": "Delete"}
spec.persistentVolumeClaimRetentionPolicy = {"whenDeleted": "X"}
spec.selector!
spec.selector = {}
spec.serviceName!
spec.replicas = -1
spec.ordinals = {"start": 3}
spec.template.spec.restartPolicy = "Never"
spec.volumeClaimTemplates!
""",
    "DaemonSet": """
spec.updateStrategy = {"type": "OnDelete"}
spec.updateStrategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
spec.selector = {"matchLabels": {"a": "b"}}
spec.minReadySeconds = -1
spec.template.spec.restartPolicy = "Never"
""",
    "Role": """
rules = [{}]
rules = []
rules!
rules = [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]
rules = [{"verbs": ["get"], "apiGroups": ["a"], "resources": []}]
metadata.name = "system:thing"
metadata.name = "a%b"
""",
    "ClusterRole": """
rules = [{"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["pods"]}]
rules! ; aggregationRule = {}
rules! ; aggregationRule = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
""",
    "RoleBinding": """
roleRef.apiGroup!
roleRef.apiGroup = "x"
roleRef.kind = "X"
roleRef.name = ""
roleRef.name = "a/b"
subjects!
subjects = [{"kind": "X", "name": ""}]
subjects = [{"kind": "ServiceAccount", "name": "A", "apiGroup": "x"}]
subjects = [{"kind": "User", "name": "u", "apiGroup": "x"}]
""",
    "ClusterRoleBinding": """
roleRef.kind = "Role"
subjects = [{"kind": "ServiceAccount", "name": "a"}]
""",
    "PersistentVolume": """
spec.capacity!
spec.capacity = {"storage": "0"}
spec.capacity = {"cpu": "1"}
spec.accessModes!
spec.accessModes = ["X"]
spec.accessModes = ["ReadWriteOncePod", "ReadWriteMany"]
spec.hostPath!
spec.hostPath.type = "Directory"
spec.nfs = {"server": "s", "path": "/p"}
spec.hostPath! ; spec.nfs = {"server": "", "path": "p"}
spec.hostPath! ; spec.local = {"path": "/x"}
spec.hostPath! ; spec.local = {"path": "/x"} ; spec.nodeAffinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}
spec.nodeAffinity = {}
spec.persistentVolumeReclaimPolicy = "X"
spec.persistentVolumeReclaimPolicy = "Recycle" ; spec.hostPath.path = "/"
spec.storageClassName = "A"
spec.storageClassName = "a"
spec.volumeMode = "X"
spec.volumeMode = "Block"
spec.claimRef = {"name": "c", "namespace": "n"}
status = {"phase": "Bound"}
""",
    "PersistentVolumeClaim": """
spec.accessModes!
spec.accessModes = ["X"]
spec.resources!
spec.resources = {"requests": {"storage": "0"}}
spec.resources = {"requests": {"storage": "1024Mi"}}
spec.storageClassName = ""
spec.storageClassName = "A"
spec.volumeMode = "X"
spec.selector = {"matchExpressions": [{"key": "a", "operator": "X"}]}
spec.dataSource = {"kind": "PersistentVolumeClaim", "name": "x"}
spec.dataSource = {"kind": "X", "name": ""}
spec.dataSourceRef = {"kind": "PersistentVolumeClaim", "name": "x"}
spec.volumeName = "v"
status = {"phase": "Bound"}
""",
    "HorizontalPodAutoscaler": """
spec.minReplicas = 0
spec.minReplicas = 5
spec.maxReplicas = 0
spec.scaleTargetRef = {"kind": "", "name": ""}
spec.metrics = [{"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1024Mi"}}}]
spec.metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}]
spec.metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "X", "averageUtilization": 0}}}]
spec.metrics = [{"type": "Resource"}]
spec.metrics = [{"type": "X"}]
spec.metrics = [{"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "0"}}}]
spec.metrics = [{"type": "Pods", "pods": {"metric": {"name": ""}, "target": {"type": "Value", "value": "1"}}}]
spec.metrics = [{"type": "External", "external": {"metric": {"name": "m"}, "target": {"type": "Value", "value": "1", "averageValue": "1"}}}]
spec.metrics = [{"type": "Object", "object": {"describedObject": {"kind": "K", "name": "n"}, "metric": {"name": "m"}, "target": {"type": "Value"}}}]
spec.metrics = [{"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c", "target": {"type": "Utilization", "averageUtilization": 50}}}]
spec.behavior = {}
spec.behavior = {"scaleDown": {"stabilizationWindowSeconds": 30}}
spec.behavior = {"scaleUp": {"stabilizationWindowSeconds": -1, "selectPolicy": "X", "policies": [{"type": "X", "value": 0, "periodSeconds": 0}]}}
spec.behavior = {"scaleUp": {"stabilizationWindowSeconds": 9999, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 9999}]}}
""",
    "PriorityClass": """
value = 2000000000
value = -5
value = 0
value!
preemptionPolicy = "Never"
preemptionPolicy = "X"
metadata.name = "system-x"
""",
    "StorageClass": """
provisioner = ""
provisioner = "a b"
reclaimPolicy = "Retain"
reclaimPolicy = "Recycle"
volumeBindingMode = "WaitForFirstConsumer"
volumeBindingMode = "X"
parameters = {"": "x"}
parameters = {"a": "b"}
allowVolumeExpansion = false
mountOptions = ["x"]
""",
    "Endpoints": """
subsets = []
subsets = [{}]
subsets = [{"addresses": [{"ip": "x", "hostname": "A", "nodeName": "B"}]}]
subsets = [{"addresses": [{"ip": "127.0.0.1"}]}]
subsets = [{"notReadyAddresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 0, "protocol": "X"}, {"port": 5}]}]
""",
    "EndpointSlice": """
addressType = "X"
addressType = "IPv6"
endpoints = [{"addresses": []}]
endpoints = []
endpoints = [{"addresses": ["1.2.3.4"], "hostname": "A", "nodeName": "B"}]
endpoints = [{"addresses": ["1.2.3.4"], "conditions": {"ready": false}, "zone": "z"}]
ports = [{"port": 80, "name": "A", "protocol": "X"}]
ports = [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]
ports!
""",
    "LimitRange": """
spec.limits = [{"type": "Container", "max": {"example.com/x": "9"}}]
spec.limits = [{"type": "X"}]
spec.limits = [{"type": "Pod", "default": {"cpu": "1"}}]
spec.limits = [{"type": "PersistentVolumeClaim"}]
spec.limits = [{"type": "PersistentVolumeClaim", "min": {"storage": "2"}, "max": {"storage": "1"}}]
spec.limits = [{"type": "Container", "min": {"foo": "2"}}]
spec.limits = []
""",
    "ResourceQuota": """
spec.hard = {"foo": "1"}
spec.hard = {"count/widgets.example.com": "-1"}
spec.hard = {"count/jobs.batch": "1024Mi"}
spec.hard = {"pods": "0.5"}
spec.scopes = ["X"]
spec.scopes = ["BestEffort", "NotBestEffort"]
spec.hard = {"services": "5"} ; spec.scopes = ["BestEffort"]
spec.scopeSelector = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}
spec = {}
""",
    "PodDisruptionBudget": """
spec.maxUnavailable = 1
spec.minAvailable = "50%"
spec.minAvailable = "150%"
spec.minAvailable = "x"
spec.minAvailable = -1
spec.selector!
spec.selector = {"matchLabels": {"a b": "c"}}
spec.unhealthyPodEvictionPolicy = "X"
spec.unhealthyPodEvictionPolicy = "AlwaysAllow"
""",
}

UPDATES = {
    "Pod": """
metadata.labels.x = "y"
metadata.annotations.x = "y"
metadata.labels = {"a b": "c"}
metadata.finalizers = ["nodomain"]
spec.containers[0].image = "other"
spec.containers[0].image = ""
spec.containers[0].image = " x"
spec.initContainers[0].image = "other"
spec.containers[0].name = "renamed"
spec.containers[0].command = ["other"]
spec.containers[1] = {"name": "more", "image": "x"}
spec.initContainers!
spec.activeDeadlineSeconds = 10
spec.activeDeadlineSeconds = -1
spec.tolerations = []
spec.tolerations[2] = {"key": "a", "operator": "Exists"}
spec.tolerations[0].tolerationSeconds = 5
spec.tolerations[0].effect = "NoSchedule"
spec.nodeName = "n"
spec.schedulingGates = [{"name": "g"}]
spec.terminationGracePeriodSeconds = 5
spec.priority!
spec.serviceAccountName = "x"
spec.containers[0].resources.limits.cpu = "1000m"
spec.containers[0].resources.limits.cpu = "2"
status.phase = "Running"
""",
    "Service": """
metadata.labels = {"x": "y"}
spec.clusterIP!
spec.clusterIP = "10.100.9.9"
spec.clusterIP! ; spec.clusterIPs!
spec.clusterIP = "None" ; spec.clusterIPs = ["None"]
spec.clusterIPs = ["10.100.9.9"]
spec.selector = {"a": "b"}
spec.ports[0].port = 81
spec.ports = []
spec.type = "ExternalName" ; spec.externalName = "x"
spec.ipFamilies = ["IPv6"]
spec.ipFamilies! ; spec.ipFamilyPolicy!
spec.sessionAffinity = "ClientIP"
""",
    "ConfigMap": 'data = {"x": "y"}\nimmutable = true\ndata = {"a b": ""}\ndata!\nmetadata.labels = {"a b": ""}',
    "Secret": 'data = {"x": "eA=="}\ntype = "x"\nimmutable = true\nstringData = {"a": "b"}\ntype!',
    "ServiceAccount": 'secrets = [{"name": "y", "namespace": "n"}]\nmetadata.finalizers = ["a b"]',
    "Namespace": 'metadata.labels = {"x": "y"}\nspec = {"finalizers": []}\nstatus.phase = "Terminating"\nmetadata.finalizers = ["x"]',
    "Node": """
spec.unschedulable = true
spec.podCIDR = "10.9.0.0/24"
spec.podCIDR! ; spec.podCIDRs!
spec.taints = []
spec.taints = [{"key": "a b", "effect": "X"}]
status.capacity = {"cpu": "9"}
""",
    "Event": 'count = 2\nmessage = "other"\ninvolvedObject.namespace = "other"',
    "Lease": 'spec.holderIdentity = "you"\nspec.leaseDurationSeconds = -1\nmetadata.finalizers = ["x"]',
    "Job": """
spec.parallelism = 2
spec.completions = 2
spec.completions!
spec.suspend = true
spec.backoffLimit = 1
spec.completionMode = "Indexed"
spec.template.spec.containers[0].image = "other"
spec.template.metadata.labels.x = "y"
spec.template.spec.nodeSelector = {"a": "b"}
spec.selector.matchLabels.x = "y"
spec.managedBy = "a/b"
spec.podReplacementPolicy = "Failed"
spec.ttlSecondsAfterFinished = 5
metadata.labels = {"x": "y"}
metadata.annotations = {"x": "y"}
spec.activeDeadlineSeconds = -1
status.active = 1
""",
    "CronJob": 'spec.schedule = "x"\nspec.suspend = true\nspec.jobTemplate.spec.parallelism = 2\nmetadata.annotations = {"x": "y"}',
    "Deployment": """
spec.replicas = 3
spec.selector = {"matchLabels": {"app": "web", "x": "y"}} ; spec.template.metadata.labels.x = "y"
spec.template.spec.containers[0].image = "other"
metadata.annotations = {"x": "y"}
metadata.labels = {"x": "y"}
spec.replicas = -1
""",
    "ReplicaSet": 'spec.replicas = 3\nspec.replicas = -1\nmetadata.labels = {"x": "y"}',
    "StatefulSet": 'spec.replicas = 3\nspec.serviceName = "other"\nspec.template.spec.containers[0].image = "x"\nspec.volumeClaimTemplates = []',
    "DaemonSet": 'spec.template.spec.containers[0].image = "x"\nspec.minReadySeconds = 4\nmetadata.labels = {"x": "y"}',
    "Role": 'rules = []\nrules = [{}]\nmetadata.labels = {"a b": ""}',
    "RoleBinding": 'roleRef.name = "other"\nsubjects = []\nsubjects = [{"kind": "X", "name": ""}]',
    "ClusterRoleBinding": 'roleRef.name = "other"\nsubjects = []',
    "ClusterRole": "rules = []",
    "PersistentVolume": """
spec.hostPath.path = "/other"
spec.capacity = {"storage": "2Gi"}
spec.volumeMode = "Block"
spec.persistentVolumeReclaimPolicy = "Delete"
spec.accessModes = []
status.phase = "Bound"
""",
    "PersistentVolumeClaim": """
spec.resources.requests.storage = "2Gi"
spec.resources.requests.storage = "1"
spec.accessModes = ["ReadWriteMany"]
spec.volumeName = "v"
spec.storageClassName = "x"
spec.volumeMode = "Block"
metadata.labels = {"x": "y"}
""",
    "HorizontalPodAutoscaler": "spec.maxReplicas = 9\nspec.minReplicas = 0\nspec.metrics = []\nspec.maxReplicas = 0",
    "PriorityClass": 'value = 5\npreemptionPolicy = "Never"\ndescription = "x"',
    "StorageClass": 'provisioner = "x"\nreclaimPolicy = "Retain"\nvolumeBindingMode = "WaitForFirstConsumer"\nparameters = {"a": "b"}\nallowVolumeExpansion = true',
    "Endpoints": "subsets = []\nsubsets = [{}]",
    "EndpointSlice": 'addressType = "IPv6"\nendpoints = []\nports = []\nmetadata.labels = {"x": "y"}\nmetadata.annotations = {"x": "y"}',
    "LimitRange": 'spec.limits = []\nspec.limits = [{"type": "X"}]',
    "ResourceQuota": 'spec.hard = {"count/widgets.example.com": "5"}\nspec.scopes = ["BestEffort"]\nstatus = {"hard": {"pods": "1"}}',
    "PodDisruptionBudget": 'spec.minAvailable = 2\nspec.minAvailable = -1\nmetadata.labels = {"x": "y"}\nmetadata.labels = {"a b": "y"}',
}

STATUS = {
    "Pod": """
status = {"phase": "Running", "podIP": "1.2.3.4", "hostIP": "1.1.1.1", "startTime": "2024-01-01T00:00:00Z"}
status = {"phase": "Running", "podIPs": [{"ip": "x"}]}
status.podIPs = [{"ip": "1.2.3.4"}, {"ip": "1.2.3.5"}]
status.qosClass = "Guaranteed"
status.qosClass!
status.conditions = [{"type": "a b", "status": "True"}]
status.conditions = [{"type": "Ready", "status": "True"}]
status.nominatedNodeName = "A"
status.hostIP = "1.1.1.1" ; status.hostIPs = [{"ip": "1.1.1.2"}]
spec.nodeName = "n" ; status.phase = "Failed"
metadata.labels = {"from": "status"}
""",
    "Service": """
status = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}
status = {"conditions": [{"type": "a", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2024-01-01T00:00:00Z"}]}
spec.selector = {"a": "b"}
""",
    "Namespace": 'status.phase = "Terminating"\nstatus.phase = "Active"',
    "Node": 'status.capacity = {"cpu": "8"}\nspec.unschedulable = true\nstatus.addresses = [{"type": "InternalIP", "address": "1.2.3.4"}]',
    "Job": """
status = {"active": 1, "ready": 1, "startTime": "2024-01-01T00:00:00Z"}
status = {"active": -1}
status = {"ready": 2, "active": 1}
status = {"conditions": [{"type": "Complete", "status": "True"}]}
status = {"conditions": [{"type": "Failed", "status": "True"}], "startTime": "2024-01-01T00:00:00Z"}
status = {"conditions": [{"type": "Failed", "status": "True"}, {"type": "FailureTarget", "status": "True"}], "startTime": "2024-01-01T00:00:00Z", "active": 1}
status = {"completedIndexes": "0"}
status = {"failedIndexes": "0"}
status = {"completionTime": "2024-01-01T00:00:00Z"}
spec.parallelism = 5 ; status = {"active": 1}
""",
    "CronJob": 'status = {"lastScheduleTime": "2024-01-01T00:00:00Z"}',
    "Deployment": 'status = {"replicas": 1, "readyReplicas": 2}\nstatus = {"replicas": 2, "readyReplicas": 1}\nmetadata.labels = {"x": "y"}',
    "ReplicaSet": 'status = {"replicas": 1, "readyReplicas": 2}',
    "StatefulSet": 'status = {"replicas": 1}\nstatus = {"replicas": -1}',
    "PersistentVolume": 'status = {"phase": "Available"}',
    "PersistentVolumeClaim": 'status = {"phase": "Bound", "capacity": {"storage": "1024Mi"}}\nstatus = {"capacity": {"storage": "-1"}}',
    "HorizontalPodAutoscaler": 'status = {"currentReplicas": -1, "desiredReplicas": 1}',
    "ResourceQuota": 'status = {"hard": {"count/widgets.example.com": "2"}, "used": {"foo": "1"}}',
    "PodDisruptionBudget": 'status = {"disruptionsAllowed": -1, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}',
}
