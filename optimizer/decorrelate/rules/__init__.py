"""The rules of the method `quick`: each removes one common form of Apply, or brings it nearer to one that another removes."""
