// Written by `make generate` from src/traincrew/console/contract/. Do not edit it.

export type Status = "Queued" | "Starting" | "Running" | "Restarting" | "Suspended" | "Succeeded" | "Failed" | "Deleting" | "Unknown"

export type ReplicaState = "Missing" | "Pending" | "Starting" | "Running" | "Succeeded" | "Failed" | "Terminating" | "Unknown"

export type PhaseName = "Pending" | "Starting" | "Running" | "Succeeded" | "Failed" | "Lost"

export type ActionName = "suspend" | "resume" | "scale" | "rerun" | "delete"

export type Level = "" | "debug" | "info" | "warning" | "error"

export type SignInMethod = "link" | "token" | "kubeconfig" | "proxy"

export interface Action {
  name: ActionName
  allowed: boolean
  /** Why not: the state of the job, or a missing right. */
  reason: string
}

export interface ActionResult {
  /** What was done, such as `pytorchjob/mnist suspended`. */
  message: string
  namespace: string
  kind: string
  /** The job; that of `rerun` is the new one. */
  name: string
}

export interface ApiError {
  /** What the console tried to do, such as `suspend pytorchjob/mnist in namespace default`. */
  tried: string
  /** The words of the API server, or those of the console if it did not ask the API server. */
  message: string
  /** Such as `Forbidden`, `NotFound`, `Conflict`, `Invalid`, `Unreachable`, `SignInRequired`. */
  reason: string
  /** The HTTP status. */
  code: number
  /** What to do, in the imperative. */
  nextStep: string
  fields: FieldError[]
  missingRight: MissingRight | null
}

export interface Capabilities {
  /** Version of traincrew. */
  version: string
  /** `embedded`: the cluster of this machine that `traincrew up` runs. `recording`: no cluster, only recording files. */
  mode: "cluster" | "embedded" | "recording"
  /** Name of the kubeconfig context. Empty: none. */
  context: string
  /** Address of the API server. */
  server: string
  serverVersion: string
  /** Name of the user, as far as the API server reports it. */
  user: string
  /** Default namespace. */
  namespace: string
  /** Empty: the user may not list namespaces. */
  namespaces: string[]
  kinds: KindInfo[]
  features: Feature[]
}

/** Sent first on each connection, and whenever the API server is lost or found again. */
export interface ClusterState {
  type: "cluster"
  /** away: what the page shows may be old. The console tries again by itself. */
  state: "away" | "connected"
  /** Why the cluster is away: `Unreachable`, or `Unauthorized` if the API server rejects the credentials of the console. */
  reason: string
  message: string
  /** What to do. */
  nextStep: string
  since: string
}

export interface Condition {
  type: string
  status: string
  reason: string
  message: string
  since: string | null
}

/** A condition of a job had this status and reason from then on. */
export interface ConditionChange {
  time: string
  type: string
  status: string
  reason: string
  message: string
}

/** The oldest first; of many, the last 200. */
export interface ConditionHistory {
  changes: ConditionChange[]
}

export interface Container {
  name: string
  init: boolean
  image: string
  state: "Running" | "Terminated" | "Unknown" | "Waiting"
  ready: boolean
  restarts: number
  exitCode: number | null
  signal: number | null
  reason: string
  message: string
  started: string | null
  ended: string | null
}

export interface ContainerSpec {
  name: string
  init: boolean
  image: string
  command: string[]
  args: string[]
  workingDir: string
  env: EnvironmentVariable[]
  mounts: Mount[]
}

export interface Delete {
  /** Delete only this object. Empty: whatever has the name. */
  uid?: string
}

/** One device of a node. Nodes report how many devices a pod holds, not which ones: those of a pod are beside each other. */
export interface Device {
  /** Of the pod that holds the device. Empty: the device is free. */
  namespace: string
  pod: string
  /** The lowercase singular of the job that the pod belongs to. Empty: it belongs to none. */
  kind: string
  job: string
  replica: string
}

/** What `traincrew why` says. */
export interface Diagnosis {
  failure: Failure | null
  /** What happened, one sentence each. */
  causes: string[]
  evidence: string[]
  /** Replicas that do not run, each with its reason, if the causes do not name them. */
  pods: string[]
  warnings: string[]
  /** What to do. */
  remedies: string[]
  /** Commands of the CLI that show more. */
  commands: string[]
}

/** Numbers of workers among which a running job may be scaled. */
export interface ElasticLimits {
  role: string
  min: number
  max: number
}

/** No further message of the topic follows. */
export interface End {
  type: "end"
  topic: string
  /** Deleted: the job was deleted. Finished: all logs have ended, and no replica will start again. Limited: there are lines after those around the moment that was asked for. */
  reason: "Deleted" | "Finished" | "Limited" | "Unsubscribed"
  message: string
}

/** The command reads the end of its input. A terminal sends Ctrl-D instead. */
export interface EndOfInput {
  type: "end-of-input"
}

/** The answer to `GET environments`. */
export interface EnvironmentList {
  /** Empty on a cluster. */
  environments: RuntimeEnvironment[]
  /** Names of the volume claims of the namespace, one of which may contain environments. Empty on one machine. */
  claims: string[]
  /** What could not be read, and why. */
  notes: string[]
}

export interface EnvironmentVariable {
  name: string
  /** Empty if the value comes from another object. */
  value: string
  /** Such as `secret db, key password`. Values of secrets are never sent. */
  source: string
}

export interface Event {
  uid: string
  /** `Normal` or `Warning`. */
  type: string
  reason: string
  message: string
  objectKind: string
  objectName: string
  /** Empty: the event is not about a replica. */
  replica: string
  source: string
  count: number
  first: string | null
  last: string | null
}

/** The command has ended. The console closes the connection. */
export interface Exited {
  type: "exit"
  code: number
}

/** The first failure of the job, or of its latest attempt. */
export interface Failure {
  /** Such as `worker-1`. */
  replica: string
  pod: string
  node: string
  container: string
  exitCode: number | null
  /** Such as `OOMKilled` or `Error`. */
  reason: string
  /** The pod was disrupted from outside (eviction, preemption, lost node, deletion); its program did not fail. */
  disruption: boolean
  time: string | null
  /** One line. Empty: unknown. */
  cause: string
  /** What to do. Empty: unknown. */
  advice: string
  /** Lines of the output of the replica that failed first. */
  evidence: string[]
  /** Replicas that failed because of it. */
  victims: string[]
  /** The termination message of the container, or its last lines of output. */
  message: string
  /** The failure ended the job. False: the job restarted after it. */
  final: boolean
}

export interface Feature {
  name: "exec" | "history" | "metrics" | "nodes" | "queues" | "simulate" | "tensorboard"
  available: boolean
  /** Why not, and what to do. */
  reason: string
}

/** A problem of a manifest, at its field and its line. */
export interface FieldError {
  /** Such as `spec.mpiReplicaSpecs.Worker.replicas`. Empty: the whole document. */
  path: string
  /** Counted from 1 in the text that was sent. 0: unknown. */
  line: number
  column: number
  message: string
  level: "error" | "warning"
}

/** The answer to `POST fit`. Jobs that wait already come first, as in the scheduler. */
export interface Fits {
  jobs: JobFit[]
  /** The scheduler of the cluster is not ours: the answer comes from allocatable resources, requests, taints and affinity. */
  estimate: boolean
  /** What could not be read, and why. */
  notes: string[]
}

/** Every 15 seconds. A page that gets nothing for 35 seconds connects again. */
export interface Heartbeat {
  type: "heartbeat"
  time: string
}

/** A job with pods on nodes. */
export interface Holder {
  namespace: string
  kind: string
  name: string
  pods: number
  requests: Record<string, string>
}

export interface JobChanges {
  type: "job.patch"
  topic: string
  cursor: string
  data: JobPatch
}

export interface JobDetail {
  summary: JobSummary
  roles: RoleSummary[]
  /** In the order of the roles of the kind, then by index. At most 500: those that do not run, then the first ones. */
  replicas: Replica[]
  /** Number of replicas that are in neither `replicas` nor `timeline`. `GET JOB/replicas` has all of them. */
  moreReplicas: number
  timeline: ReplicaTimeline[]
  diagnosis: Diagnosis
  /** Of the job and its pods, the oldest first. */
  events: Event[]
  conditions: Condition[]
  restarts: Restarts
  elastic: ElasticLimits | null
  actions: Action[]
  /** Whether a terminal of its replicas can be opened. One of the replicas must run. */
  terminal: Permission
  annotations: Record<string, string>
  /** When the job was deleted: this is its record. Null: it exists. */
  deleted: string | null
  /** The page shows a recording file. Null: the job itself, or its record in the history. */
  recording: RecordingInfo | null
}

export interface JobFit {
  namespace: string
  kind: string
  name: string
  /** Of the job in the manifest. 0: the job exists already. */
  line: number
  verdict: "fits" | "preempts" | "waits"
  /** Replicas of the job. */
  total: number
  /** Replicas without which the job does not run: fewer than all if it is elastic. */
  required: number
  /** Replicas that have a place now. */
  placed: number
  nodes: NodeReplicas[]
  unplaced: UnplacedReplicas[]
  /** `namespace/name` of pods that would have to leave. */
  preempted: string[]
}

export interface JobKey {
  namespace: string
  kind: string
  name: string
  uid: string
}

export interface JobList {
  /** The newest first, unless `sort` asks for another order. */
  jobs: JobSummary[]
  /** By status: the jobs that match all filters but `status`. */
  counts: Record<string, number>
  /** Number of jobs that match the filters; `jobs` may have fewer (`limit`). */
  total: number
  unreadable: UnreadableKind[]
}

export interface JobListPatch {
  /** New jobs and jobs that changed, complete. */
  changed: JobSummary[]
  /** Deleted jobs, and jobs that no longer match the filters. */
  removed: JobKey[]
  counts: Record<string, number>
  total: number
  unreadable: UnreadableKind[]
}

export interface JobMetrics {
  /** Since the console has been looking at the job. Empty: see `unavailable`, or nothing was measured yet. */
  usage: UsageSeries[]
  /** By replica, then in the order in which they were first printed. */
  output: OutputSeries[]
  /** Seconds between two samples of the usage. */
  interval: number
  /** Why the usage is not known, and what to do. Empty: it is. */
  unavailable: string
  /** Why the output of replicas, or Prometheus, could not be read. */
  errors: string[]
}

export interface JobPassport {
  kind: string
  name: string
  /** Of the job in the manifest. */
  line: number
  /** At most 256. */
  replicas: ReplicaPassport[]
  total: number
}

/** What changed of a job. Null or empty: no change. */
export interface JobPatch {
  summary: JobSummary | null
  roles: RoleSummary[] | null
  /** New and changed replicas, complete. */
  replicas: Replica[]
  /** Those that are gone, or no longer among the ones that are sent. */
  removedReplicas: string[]
  moreReplicas: number | null
  /** New and changed timelines, complete. */
  timeline: ReplicaTimeline[]
  diagnosis: Diagnosis | null
  /** New events, and known ones (same uid) with another count. */
  events: Event[]
  conditions: Condition[] | null
  restarts: Restarts | null
  elastic: ElasticLimits | null
  actions: Action[] | null
  terminal: Permission | null
  annotations: Record<string, string> | null
}

/** Everything that is recorded of one job, but for its logs. */
export interface JobRecording {
  format: number
  job: RecordedObject
  statuses: RecordedStatus[]
  /** In the order of their creation. Several pods of a replica have the same name. */
  pods: RecordedObject[]
  events: (Record<string, unknown>)[]
  samples: RecordedSamples[]
  /** What the user may not read, in the words of the API server. */
  unreadable: string[]
}

export interface JobSnapshot {
  type: "job.snapshot"
  topic: string
  cursor: string
  data: JobDetail
}

/** A row of the list of jobs. (namespace, kind, name) identifies a job, uid one object of that name. */
export interface JobSummary {
  namespace: string
  /** The lowercase singular of the resource, such as `mpijob`. URLs use it. */
  kind: string
  /** Such as `MPIJob`. */
  kindName: string
  /** The API version whose behaviour the job follows, such as `kubeflow.org/v2beta1`. */
  apiVersion: string
  name: string
  uid: string
  status: Status
  /** Why a running job seems to hang. Empty: it does not, or it is not known. */
  stalled: string
  /** Why a job waits, restarts or failed. Null: nothing is wrong. */
  why: Why | null
  /** 1 for the first attempt; each restart of the job is another one. */
  attempt: number
  created: string | null
  started: string | null
  ended: string | null
  replicas: ReplicaCounts
  /** The requests of all replicas together, such as `{"cpu": "5", "memory": "10Gi"}`. */
  resources: Record<string, string>
  /** Those of them that are extended resources, such as `{"nvidia.com/gpu": 2}`. */
  devices: Record<string, number>
  progress: Progress | null
  /** The annotation `traincrew.kubeflow.org/description`. */
  description: string
  /** Who created the job, as far as its annotations or labels say. */
  owner: string
  queue: string
  /** Name of the priority class. */
  priority: string
  labels: Record<string, string>
}

export interface JobsPatch {
  type: "jobs.patch"
  topic: string
  cursor: string
  data: JobListPatch
}

export interface JobsSnapshot {
  type: "jobs.snapshot"
  topic: string
  cursor: string
  data: JobList
}

export interface KindInfo {
  /** The lowercase singular, such as `mpijob`. */
  kind: string
  kindName: string
  /** Such as `["kubeflow.org/v1", "kubeflow.org/v2beta1"]`; the first is the default. */
  apiVersions: string[]
  /** Such as `mpiReplicaSpecs`. */
  replicasField: string
  roles: string[]
  /** The API server serves the kind. */
  installed: boolean
  /** It has a scale subresource. */
  scalable: boolean
}

/** The answer to `POST link`, which the command `traincrew console` sends. */
export interface Link {
  token: string
}

/** Lines of all logs, merged by time. */
export interface LogBatch {
  lines: LogLine[]
  /** Logs that are new, ended or cannot be read since the message before. */
  sources: LogSource[]
  /** Lines before these that were not sent: the page reads slower than the job writes, or the last lines are more than the console keeps. */
  skipped: number
}

/** (source, sequence) identifies a line, and it stays the same as long as the line is kept. */
export interface LogLine {
  /** Such as `worker-1`. */
  replica: string
  /** `replica/container`: the log that the line belongs to. */
  source: string
  /** The position in the log: digits and a dash, of constant length. Strings compare as the lines follow each other. */
  sequence: string
  /** RFC 3339 with nanoseconds, UTC. Empty: unknown. */
  time: string
  /** Without the newline; may have control characters and ANSI sequences. Bytes that are not UTF-8 are `\ufffd`. */
  text: string
  level: Level
  /** Length of a line that is cut, as far as it was read. 0: the line is complete. */
  bytes: number
}

/** The answer to `GET …/logs`. */
export interface LogPage {
  lines: LogLine[]
  sources: LogSource[]
  /** There are more lines that match: `limit` was reached. The last ones are in the answer. */
  truncated: boolean
  /** Number of lines that match, of all that are kept. */
  matches: number
}

/** A log, and whether it has ended. */
export interface LogSource {
  source: string
  replica: string
  container: string
  pod: string
  ended: boolean
  exitCode: number | null
  /** Such as `Completed`, `Error`, `OOMKilled`. */
  reason: string
  /** Why the log cannot be read. Empty: it is read. */
  error: string
}

export interface LogsPatch {
  type: "logs.patch"
  topic: string
  data: LogBatch
}

/** The first message of a topic that was subscribed without positions: the page discards what it has. */
export interface LogsSnapshot {
  type: "logs.snapshot"
  topic: string
  data: LogBatch
}

/** New points: append those of each series to the ones that the page has. A series that the page does not have is complete. */
export interface MetricsPatch {
  type: "metrics.patch"
  topic: string
  data: JobMetrics
}

export interface MetricsSnapshot {
  type: "metrics.snapshot"
  topic: string
  data: JobMetrics
}

/** The right that the API server requires. */
export interface MissingRight {
  user: string
  verb: string
  group: string
  resource: string
  subresource: string
  namespace: string
  name: string
}

export interface Mount {
  path: string
  volume: string
  /** Such as `persistentVolumeClaim` or `emptyDir`. */
  kind: string
  readOnly: boolean
}

export interface Node {
  name: string
  ready: boolean
  schedulable: boolean
  /** Why the node is not ready. */
  message: string
  created: string | null
  allocatable: Record<string, string>
  /** Requests of the pods on the node. */
  requested: Record<string, string>
  /** CPU and memory that are used, as the metrics server measures them. Empty: it does not. */
  used: Record<string, string>
  devices: NodeDevices[]
  labels: Record<string, string>
  taints: string[]
  /** `namespace/kind/name` of jobs with pods on the node. */
  jobs: string[]
}

export interface NodeDevices {
  /** Such as `nvidia.com/gpu`. */
  resource: string
  allocatable: number
  requested: number
  /** One by one, at most 64: those that are held, then those that are free. */
  devices: Device[]
}

export interface NodeList {
  nodes: Node[]
  /** What could not be read, and why: requests and holders of devices, or the usage, are then incomplete. */
  notes: string[]
}

export interface NodeReplicas {
  node: string
  /** Such as `["worker-0", "worker-1"]`. */
  replicas: string[]
}

/** A recording file that the user has opened. */
export interface OpenedRecording {
  /** `NAME@ID` stands for the name of its job in paths and topics. */
  id: string
  namespace: string
  kind: string
  name: string
  exported: string | null
  /** Bytes of the file. */
  size: number
}

export interface OpenedRecordingList {
  /** The one that was looked at last is the first one. */
  recordings: OpenedRecording[]
}

/** Numbers that a replica has printed, such as its loss. They are guessed from its output: say so where they are shown. */
export interface OutputSeries {
  /** Such as `loss` or `images/sec`. */
  name: string
  replica: string
  /** Milliseconds since 1970. Long series are thinned out. */
  times: number[]
  /** Null: printed as NaN or infinity. */
  values: (number | null)[]
  /** The step on the same line. Null: the line has none. */
  steps: (number | null)[]
  /** The last line that had a value. */
  line: string
}

/** The answer to `POST passport`. */
export interface Passports {
  jobs: JobPassport[]
}

export interface PatternMatch {
  /** Counted from 1. */
  line: number
  name: string
  value: number | null
  step: number | null
}

/** What a pattern finds. A pattern that is not valid is an error (`Invalid`). */
export interface PatternMatches {
  matches: PatternMatch[]
}

export interface Permission {
  allowed: boolean
  /** Why not. */
  reason: string
}

export interface Phase {
  name: PhaseName
  start: string
  /** Null: the phase lasts. */
  end: string | null
  /** Such as `exit code 1` or `waits for an image`. */
  text: string
}

export interface PriorityClass {
  name: string
  value: number
}

export interface Progress {
  /** From 0 to 1. */
  fraction: number
  /** Such as `step 412 of 938`. */
  text: string
  /** annotation: `traincrew.kubeflow.org/progress` of the job. output: guessed from what a replica prints. */
  source: "annotation" | "output"
}

export interface Queue {
  system: "kueue" | "volcano"
  name: string
  /** Namespace of a LocalQueue. Empty: a queue of Volcano, which belongs to no namespace. */
  namespace: string
  /** Kueue's ClusterQueue. Empty: Volcano. */
  clusterQueue: string
  cohort: string
  /** Such as `BestEffortFIFO`. */
  strategy: string
  active: boolean
  /** Why it is not active. */
  message: string
  pending: number
  admitted: number
  /** Empty: the user may not read the quota. */
  resources: QueueResource[]
  /** Admitted jobs first, then those that wait, in the order in which they will probably be admitted. */
  jobs: QueuedJob[]
}

export interface QueueList {
  queues: Queue[]
  /** Why there are no queues, and what to do. Empty: there is a queue system. */
  unavailable: string
  /** What the user may not read. */
  notes: string[]
}

export interface QueueResource {
  /** Such as `cpu` or `nvidia.com/gpu`. */
  resource: string
  /** Kueue's resource flavor. Empty: Volcano has none. */
  flavor: string
  /** Empty: no limit. */
  quota: string
  /** By admitted jobs. */
  used: string
  /** That part of `used` which belongs to other queues of the cohort. */
  borrowed: string
  /** By the jobs that wait. Empty: unknown. */
  wanted: string
}

export interface QueuedJob {
  namespace: string
  /** The lowercase singular. Empty: it is not a job of the console. */
  kind: string
  name: string
  admitted: boolean
  /** Among the jobs that wait, from 1. Null: admitted. */
  position: number | null
  priority: number
  /** Why it waits, such as `Pending` or `Inadmissible`. */
  reason: string
  message: string
  since: string | null
}

export interface RecordedJob {
  /** As it was last seen. */
  summary: JobSummary
  /** When the job was deleted, as the recorder saw it. Null: it exists. */
  deleted: string | null
}

/** The newest first. */
export interface RecordedJobList {
  jobs: RecordedJob[]
  /** There are more. */
  truncated: boolean
}

/** A job or a pod as it was last seen, without secret values of environment variables. */
export interface RecordedObject {
  uid: string
  /** The lowercase singular of a job; `pod`. */
  kind: string
  deleted: string | null
  object: Record<string, unknown>
}

export interface RecordedObjectList {
  objects: RecordedObject[]
}

/** What a pod used. The lists have one value for each of `times`. */
export interface RecordedSamples {
  /** UID. */
  pod: string
  /** Milliseconds since 1970. */
  times: number[]
  /** Cores. */
  cpu: number[]
  /** Bytes. */
  memory: number[]
}

export interface RecordedStatus {
  /** Milliseconds since 1970, when the recorder saw it. */
  time: number
  status: Record<string, unknown>
}

/** A recording file that was opened. */
export interface RecordingInfo {
  /** The job is shown as of this time. */
  exported: string | null
  /** Of traincrew, which wrote the file. */
  version: string
  /** The API server of the cluster. Empty: unknown. */
  server: string
  /** What is not in the recording, and why. */
  missing: string[]
}

export interface Replica {
  /** Role and index in lower case, such as `worker-1` or `launcher`. URLs and logs use it. */
  name: string
  /** Such as `Worker`. */
  role: string
  index: number
  /** The rank that the operator gives the replica. Null: the kind gives none, or it changes while the job runs. */
  rank: number | null
  state: ReplicaState
  /** Why the replica does not run. Empty: it runs or succeeded. */
  why: string
  /** Empty if the pod does not exist (state Missing). */
  pod: string
  uid: string
  node: string
  ip: string
  /** Restarts of its containers in this pod. */
  restarts: number
  exitCode: number | null
  created: string | null
  started: string | null
  ended: string | null
  requests: Record<string, string>
  limits: Record<string, string>
  containers: Container[]
}

export interface ReplicaCounts {
  total: number
  /** Running, and all containers are ready. */
  ready: number
  running: number
  succeeded: number
  failed: number
}

export interface ReplicaDetail {
  replica: Replica
  containers: ContainerSpec[]
  events: Event[]
  yaml: string
}

/** The answer to `GET JOB/replicas`. */
export interface ReplicaPage {
  /** In the order of the roles of the kind, then by index. */
  replicas: Replica[]
  offset: number
  /** Number of replicas that match the filters. */
  total: number
  /** By state: the replicas that match all filters but `state`. */
  counts: Record<string, number>
}

export interface ReplicaPassport {
  /** Such as `worker-1`. */
  replica: string
  role: string
  index: number
  /** The variables that the operator adds; those of the manifest come in addition. */
  env: EnvironmentVariable[]
}

export interface ReplicaTimeline {
  replica: string
  /** In the order of time, without gaps. Those of earlier pods of the replica come first, as far as they are known. */
  phases: Phase[]
}

export interface Rerun {
  /** Name of the new job. Empty: the name of the job with `-` and a number. */
  name?: string
}

export interface Resize {
  type: "resize"
  columns: number
  rows: number
}

export interface Restarts {
  /** Restarts that count against the limit. */
  charged: number
  /** Null: no limit. */
  limit: number | null
  disruptions: number
}

export interface RoleSummary {
  name: string
  replicas: number
  restartPolicy: string
}

/** A virtual or conda environment of this machine. */
export interface RuntimeEnvironment {
  directory: string
  /** Image names that are mapped to it, as `traincrew image list` prints them. */
  images: string[]
}

export interface Scale {
  /** Number of workers. */
  replicas: number
  /** Scale a job that is not elastic, or outside of its limits. */
  force?: boolean
}

export interface SessionInfo {
  /** How the user has signed in. */
  method: SignInMethod
  /** Name of the user, as the API server says (SelfSubjectReview). Empty: all sessions are those of the console's own user. */
  user: string
  groups: string[]
  /** Value of the header X-CSRF-Token of every request but the sign-in. The page keeps it in localStorage: unlike the cookie, it is not sent to other servers of this machine. */
  csrfToken: string
}

export interface SignIn {
  /** `link`: from the fragment of the link that `traincrew console` prints; it is valid once. `token`: a bearer token of the cluster. */
  token?: string
  /** The text of a kubeconfig. Only the token or the client certificate of its current context is used. */
  kubeconfig?: string
  /** The namespace to show if the user may not list jobs of all namespaces. Empty: that of the kubeconfig or service account. */
  namespace?: string
}

/** How users sign in to this console. */
export interface SignInOptions {
  methods: SignInMethod[]
}

/** The answer to `POST JOB:simulate`. */
export interface Simulation {
  fit: JobFit
  estimate: boolean
  /** Null: the job has no workers. */
  workers: WorkerRange | null
  /** Name of the priority class that the job has. Empty: none. */
  priority: string
  priorityClasses: PriorityClass[]
  /** Other jobs that hold resources, those with most pods first. */
  holders: Holder[]
  notes: string[]
}

export interface StartTensorBoard {
  /** A path in the replicas, or a URL such as s3://bucket/logs. Empty: from the command of the job, else its shared volume. */
  logDirectory?: string
  /** An image that has TensorBoard. Empty: the image of the job. */
  image?: string
}

export interface StreamError {
  type: "error"
  /** Empty: the error is not about a topic. */
  topic: string
  error: ApiError
  /** The console tries again by itself. False: the topic has ended; subscribe again. */
  retrying: boolean
}

/** The answer to `POST jobs`. Errors have the shape ApiError, with `fields`. */
export interface SubmitResult {
  dryRun: boolean
  /** Created objects in order; with `dryRun` those that would be created. */
  objects: SubmittedObject[]
  /** Warnings. */
  findings: FieldError[]
}

export interface SubmittedObject {
  apiVersion: string
  kindName: string
  /** Empty: the object is not namespaced. */
  namespace: string
  name: string
  /** The lowercase singular of a job; empty for other objects. */
  kind: string
  line: number
}

export interface Subscribe {
  type: "subscribe"
  /** `jobs?FILTERS`, `job:NAMESPACE/KIND/NAME`, or `logs` and `metrics` instead of `job` with the filters of the REST path. */
  topic: string
  /** jobs, job: the cursor of the last message, to get only what changed since. Empty: begin with a snapshot. */
  cursor?: string
  /** logs: by source the sequence of the last line that the page has. Lines up to it are not sent again. */
  positions?: Record<string, string>
}

export interface TensorBoardInfo {
  state: "absent" | "ended" | "serving" | "starting"
  /** Why it does not serve, and what to do. */
  message: string
  /** Where the page shows it, for a frame with the sandbox `allow-scripts`. Empty: it does not serve. */
  path: string
}

/** The command could not be started, or the connection to it was lost. The console closes the connection. */
export interface TerminalError {
  type: "error"
  error: ApiError
}

export interface TryPattern {
  /** Empty: the patterns that the console uses by itself. */
  pattern?: string
  /** Lines of output. */
  text: string
}

export interface UnplacedReplicas {
  /** The words of the scheduler, such as `0/1 nodes are available: 1 Insufficient memory.` */
  message: string
  replicas: string[]
}

/** Jobs of this kind are not in the list, for example because the user may not list them. */
export interface UnreadableKind {
  kind: string
  /** Empty: all namespaces. */
  namespace: string
  message: string
}

export interface Unsubscribe {
  type: "unsubscribe"
  topic: string
}

/** What a replica uses. The lists have one value for each of `times`; null: not measured then. */
export interface UsageSeries {
  /** Such as `worker-1`. */
  replica: string
  pod: string
  /** Cores. Null: none. */
  cpuRequest: number | null
  cpuLimit: number | null
  /** Bytes. Null: none. */
  memoryRequest: number | null
  memoryLimit: number | null
  /** Milliseconds since 1970, ascending. */
  times: number[]
  /** Cores. */
  cpu: (number | null)[]
  /** Bytes. */
  memory: (number | null)[]
  /** Bytes a second, as Prometheus has them. Empty: it does not, or there is none. */
  networkReceived: (number | null)[]
  networkSent: (number | null)[]
  /** Utilization of the GPUs of the replica, from 0 to 1, of Prometheus. */
  gpu: (number | null)[]
  /** Bytes. */
  gpuMemory: (number | null)[]
}

/** The body of `POST JOB:simulate`: what is different. Nothing is changed. */
export interface WhatIf {
  workers?: number | null
  /** Name of a priority class. Empty: none. */
  priority?: string | null
  /** `namespace/kind/name` of jobs that would have ended. */
  without?: string[]
}

/** Why a job does not run as wanted. */
export interface Why {
  reason: string
  message: string
  since: string | null
}

export interface WorkerRange {
  wanted: number
  /** The most workers with which the job would start now. Null: it would start with none. */
  startable: number | null
}

export interface YamlDocument {
  /** Without managed fields. */
  yaml: string
  /** What `kubectl apply` was given last, else as `manifest`. */
  submitted: string
  /** Spec and metadata that a new job needs to be the same job: no status, uid, timestamps. */
  manifest: string
}

export type ConsoleMessage =
  | JobsSnapshot
  | JobsPatch
  | JobSnapshot
  | JobChanges
  | LogsSnapshot
  | LogsPatch
  | MetricsSnapshot
  | MetricsPatch
  | End
  | StreamError
  | ClusterState
  | Heartbeat

export type PageMessage =
  | Subscribe
  | Unsubscribe

export type TerminalInput =
  | Resize
  | EndOfInput

export type TerminalOutput =
  | Exited
  | TerminalError
