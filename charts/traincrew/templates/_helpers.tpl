{{- define "traincrew.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "traincrew.selectorLabels" -}}
app.kubernetes.io/name: traincrew
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "traincrew.labels" -}}
{{ include "traincrew.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "traincrew.consoleSelectorLabels" -}}
app.kubernetes.io/name: traincrew-console
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "traincrew.consoleLabels" -}}
{{ include "traincrew.consoleSelectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "traincrew.recorderSelectorLabels" -}}
app.kubernetes.io/name: traincrew-recorder
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "traincrew.recorderLabels" -}}
{{ include "traincrew.recorderSelectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* The variable that names the history. .secret: that with the URL; it has a password, which is not in the args. */ -}}
{{- define "traincrew.historyEnv" -}}
- name: TRAINCREW_HISTORY
  {{- if .secret }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
  {{- else }}
  value: /var/lib/traincrew/history.db
  {{- end }}
{{- end -}}

{{- define "traincrew.historyClaim" -}}
{{- default (printf "%s-recorder" (include "traincrew.fullname" .)) .Values.recorder.persistence.existingClaim -}}
{{- end -}}

{{- /* A volume of root would not be writable. */ -}}
{{- define "traincrew.historyPodSecurityContext" -}}
{{- if .Values.recorder.postgres.secret -}}
{{- toYaml .Values.podSecurityContext -}}
{{- else -}}
{{- toYaml (merge (dict "fsGroup" (default 65532 .Values.podSecurityContext.runAsGroup)) .Values.podSecurityContext) -}}
{{- end -}}
{{- end -}}

{{- define "traincrew.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "traincrew.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* The image of .name with the registry of the cluster. A first part with a dot or a port, or localhost, is a registry. */ -}}
{{- define "traincrew.inRegistry" -}}
{{- if .registry -}}
{{- $parts := splitList "/" .name -}}
{{- $first := first $parts -}}
{{- if and (gt (len $parts) 1) (or (contains "." $first) (contains ":" $first) (eq $first "localhost")) -}}
{{- $parts = rest $parts -}}
{{- end -}}
{{- printf "%s/%s" .registry (join "/" $parts) -}}
{{- else -}}
{{- .name -}}
{{- end -}}
{{- end -}}

{{- define "traincrew.image" -}}
{{- $image := .Values.image -}}
{{- if not $image.repository -}}
{{- fail (printf (.Files.Get "files/no-image.txt") .Chart.AppVersion .Chart.AppVersion .Chart.AppVersion) -}}
{{- end -}}
{{- if contains "://" $image.repository -}}
{{- fail (printf "image.repository: %q has a scheme. Write the name without it, such as registry.example.com/traincrew." $image.repository) -}}
{{- end -}}
{{- if contains ":" (last (splitList "/" $image.repository)) -}}
{{- fail (printf "image.repository: %q has a tag. Set it with image.tag." $image.repository) -}}
{{- end -}}
{{- $name := include "traincrew.inRegistry" (dict "registry" .Values.imageRegistry "name" $image.repository) -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $name $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{- /* The manifest of the first job, with its images in the registry of the cluster. */ -}}
{{- define "traincrew.firstJob" -}}
{{- $job := .Files.Get "files/first-job.yaml" | trim -}}
{{- range regexFindAll "image: \\S+" $job -1 | uniq -}}
{{- $name := trimPrefix "image: " . -}}
{{- $job = replace . (printf "image: %s" (include "traincrew.inRegistry" (dict "registry" $.Values.imageRegistry "name" $name))) $job -}}
{{- end -}}
{{- $job -}}
{{- end -}}

{{- define "traincrew.initImage" -}}
{{- if .Values.initImages.default -}}
{{- include "traincrew.inRegistry" (dict "registry" .Values.imageRegistry "name" .Values.initImages.default) -}}
{{- else -}}
{{- include "traincrew.image" . -}}
{{- end -}}
{{- end -}}

{{- /* Fails on values that are valid one by one and not together. */ -}}
{{- define "traincrew.checkValues" -}}
{{- if and (gt (int .Values.replicas) 1) (not .Values.leaderElection.enabled) -}}
{{- fail "replicas: more than one replica needs leaderElection.enabled=true" -}}
{{- end -}}
{{- if and .Values.podDisruptionBudget.enabled (kindIs "invalid" .Values.podDisruptionBudget.minAvailable) (kindIs "invalid" .Values.podDisruptionBudget.maxUnavailable) -}}
{{- fail "podDisruptionBudget: set minAvailable or maxUnavailable" -}}
{{- end -}}
{{- end -}}

{{- /* Enabled kinds, as a list in JSON; all kinds if none is named. */ -}}
{{- define "traincrew.kinds" -}}
{{- $all := keys (.Files.Get "files/permissions.yaml" | fromYaml).kinds | sortAlpha -}}
{{- toJson (dict "kinds" (default $all .Values.enabledKinds)) -}}
{{- end -}}

{{- /* The rules of merged permissions: .parts is a list of maps from `group/resource name` to verbs. */ -}}
{{- define "traincrew.rules" -}}
{{- $merged := dict -}}
{{- range .parts -}}
{{- range $key, $verbs := . -}}
{{- $_ := set $merged $key (concat (default (list) (index $merged $key)) $verbs | uniq | sortAlpha) -}}
{{- end -}}
{{- end -}}
{{- range $key := keys $merged | sortAlpha }}
{{- $words := splitList " " $key }}
{{- $parts := splitn "/" 2 (first $words) }}
- apiGroups: [{{ $parts._0 | quote }}]
  resources: [{{ $parts._1 | quote }}]
  {{- with rest $words }}
  resourceNames: {{ toJson . }}
  {{- end }}
  verbs: {{ index $merged $key | toJson }}
{{- end }}
{{- end -}}

{{- /* The rules of the operator in every namespace that it watches. */ -}}
{{- define "traincrew.operatorRules" -}}
{{- $permissions := .Files.Get "files/permissions.yaml" | fromYaml -}}
{{- $parts := list -}}
{{- range (include "traincrew.kinds" . | fromJson).kinds -}}
{{- $parts = append $parts (index $permissions.kinds .) -}}
{{- end -}}
{{- if .Values.gangScheduler -}}
{{- $scheduler := ternary "volcano" "scheduler-plugins" (eq (lower .Values.gangScheduler) "volcano") -}}
{{- $parts = append $parts (index $permissions.gangSchedulers $scheduler) -}}
{{- end -}}
{{- include "traincrew.rules" (dict "parts" $parts) -}}
{{- end -}}

{{- define "traincrew.subjects" -}}
- kind: ServiceAccount
  name: {{ include "traincrew.serviceAccount" . }}
  namespace: {{ .Values.namespace.name }}
{{- end -}}

{{- /* The flags of the operator, one a line. */ -}}
{{- define "traincrew.args" -}}
- operator
{{- if .Values.leaderElection.enabled }}
- --leader-elect
{{- with .Values.leaderElection.id }}
- {{ printf "--leader-election-id=%s" . | quote }}
{{- end }}
{{- end }}
- {{ printf "--log-format=%s" .Values.logFormat }}
- {{ printf "--log-level=%s" .Values.logLevel }}
{{- range .Values.watchNamespaces }}
- {{ printf "--namespace=%s" . | quote }}
{{- end }}
{{- range .Values.enabledKinds }}
- {{ printf "--enable-scheme=%s" . | quote }}
{{- end }}
{{- with .Values.gangScheduler }}
- {{ printf "--gang-scheduler-name=%s" . | quote }}
{{- end }}
{{- with .Values.clusterDomain }}
- {{ printf "--cluster-domain=%s" . | quote }}
{{- end }}
{{- if not .Values.metrics.enabled }}
- --metrics-bind-address=0
{{- end }}
{{- if .Values.metrics.authentication }}
- --metrics-authentication
{{- end }}
{{- if .Values.metrics.certificateSecret }}
- --metrics-cert-dir=/etc/traincrew/metrics-certificate
{{- end }}
- {{ printf "--init-image=%s" (include "traincrew.initImage" .) | quote }}
{{- with .Values.initImages.pytorch }}
- {{ printf "--pytorch-init-container-image=%s" (include "traincrew.inRegistry" (dict "registry" $.Values.imageRegistry "name" .)) | quote }}
{{- end }}
{{- with .Values.pytorchInitContainerMaxTries }}
- --pytorch-init-container-max-tries={{ . }}
{{- end }}
{{- with .Values.initImages.kubectlDelivery }}
- {{ printf "--mpi-kubectl-delivery-image=%s" (include "traincrew.inRegistry" (dict "registry" $.Values.imageRegistry "name" .)) | quote }}
{{- end }}
{{- with .Values.sharing.headroom }}
- {{ printf "--headroom=%s" . | quote }}
{{- end }}
{{- if not (kindIs "invalid" .Values.sharing.settle) }}
- --settle={{ .Values.sharing.settle }}
{{- end }}
{{- with .Values.sharing.resizeBudget }}
- --resize-budget={{ . }}
{{- end }}
{{- with .Values.sharing.noticeTaints }}
- {{ printf "--notice-taints=%s" (join "," .) | quote }}
{{- end }}
{{- with .Values.sharing.scalingDefault }}
- --scaling-default={{ . }}
{{- end }}
{{- with .Values.sharing.autoscaled }}
- --autoscaled={{ . }}
{{- end }}
{{- if .Values.sharing.pinSurplus }}
- --pin-surplus
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}
