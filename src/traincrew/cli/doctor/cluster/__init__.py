"""The checks of `traincrew doctor --cluster`, one file for each subject."""
