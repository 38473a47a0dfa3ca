"""What k8s.io/apimachinery is to Go programs: quantities, times, selectors, API errors, patches, structural schemas. Pure."""
