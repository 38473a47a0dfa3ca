"""What `traincrew doctor` looks at, one file a subject."""
