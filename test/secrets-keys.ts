/** Keys of `SECRETS_KEY`. The Worker under test has the newest and the older key. */
export const secretsKeys = { newest: btoa('n'.repeat(32)), older: btoa('o'.repeat(32)), unknown: btoa('u'.repeat(32)) };
