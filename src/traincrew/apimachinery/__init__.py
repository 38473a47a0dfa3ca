"""The counterpart of k8s.io/apimachinery: quantities, times, selectors, API errors, patches, structural schemas. Pure."""
