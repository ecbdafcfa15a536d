"""What releases are worth: four tables published again and again, and what each part of the work made of them."""
