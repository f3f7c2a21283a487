/** The version in package.json. A test checks that both are the same. */
export const version = '0.1.0';
