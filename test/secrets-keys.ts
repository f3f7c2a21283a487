/** Keys of `SECRETS_KEY` in the Worker under test, which has the newest and an older one. */
export const secretsKeys = { newest: btoa('n'.repeat(32)), older: btoa('o'.repeat(32)), unknown: btoa('u'.repeat(32)) };
