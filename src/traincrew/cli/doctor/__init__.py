"""The checks of `traincrew doctor`, one file for each subject."""
