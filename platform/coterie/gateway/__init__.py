"""Transport for all apps: device HTTP and socket, authentication, error rendering, and the page of the fleet."""
