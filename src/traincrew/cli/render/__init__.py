"""What a person is told about a job: values in, words out. Pure."""
