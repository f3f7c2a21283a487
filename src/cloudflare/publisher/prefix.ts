/** The KV prefix of the skills that are published over HTTP, and the name of the object that does so. */
export const publishedPrefix = 'skill:';
