/** The API key or the session token of this tab. */

const keyName = 'runlet-key';

export function readKey(): string | undefined {
	return sessionStorage.getItem(keyName) ?? undefined;
}

export function keepKey(key: string): void {
	sessionStorage.setItem(keyName, key);
}

export function forgetKey(): void {
	sessionStorage.removeItem(keyName);
}
