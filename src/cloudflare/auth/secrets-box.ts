import { fromBase64Url, joinBytes, toBase64Url } from '../../core/base/bytes.ts';

/** Seals stored secrets: AES-GCM with keys derived from `SECRETS_KEY` by HKDF (RFC 5869). */
export interface SecretsBox {
	/** Seals a text with the newest key. The text opens only with the same `about`, so it is useless elsewhere. */
	seal(text: string, about: string): Promise<string>;
	/** Returns undefined if no key opens the text, or if the text was sealed with another `about`. */
	open(sealed: string, about: string): Promise<string | undefined>;
	/** Whether the newest key has sealed the text. If not, seal the text again before you remove its key. */
	isCurrent(sealed: string): Promise<boolean>;
}

/** 32 bytes. */
export type SecretsKey = Uint8Array<ArrayBuffer>;

/** Parses 32 bytes as base64 or base64url. Returns undefined for any other text. */
export function parseSecretsKey(text: string): SecretsKey | undefined {
	if (!/^[\w+/-]{43}=?$/.test(text)) return undefined;
	const bytes = fromBase64Url(text.replace(/=$/, ''));
	return bytes.length === 32 ? bytes : undefined;
}

const version = 'v1';
const sealedForm = /^v1\.([\w-]{11})\.([\w-]{16})\.([\w-]+)$/;

interface Derived {
	/** The public name of the key, which does not reveal the key. */
	readonly id: string;
	readonly key: CryptoKey;
}

/** The first key seals texts, and every key opens them. */
export function createSecretsBox(keys: readonly [SecretsKey, ...SecretsKey[]]): SecretsBox {
	let derived: Promise<readonly Derived[]> | undefined;
	const derive = () => (derived ??= Promise.all(keys.map(deriveKey)));
	return {
		async seal(text, about) {
			const [newest] = await derive();
			if (newest === undefined) throw new Error('A box has a key.');
			const iv = crypto.getRandomValues(new Uint8Array(12));
			const bytes = await crypto.subtle.encrypt(toAlgorithm(iv, about), newest.key, joinBytes(text));
			return [version, newest.id, toBase64Url(iv), toBase64Url(new Uint8Array(bytes))].join('.');
		},
		async open(sealed, about) {
			const [, id, iv = '', bytes = ''] = sealedForm.exec(sealed) ?? [];
			const found = (await derive()).find((one) => one.id === id);
			if (found === undefined) return undefined;
			try {
				const algorithm = toAlgorithm(fromBase64Url(iv), about);
				const text = await crypto.subtle.decrypt(algorithm, found.key, fromBase64Url(bytes));
				return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(text);
			} catch {
				return undefined;
			}
		},
		async isCurrent(sealed) {
			const [newest] = await derive();
			return sealedForm.exec(sealed)?.[1] === newest?.id;
		},
	};
}

function toAlgorithm(iv: Uint8Array<ArrayBuffer>, about: string) {
	return { name: 'AES-GCM', iv, additionalData: joinBytes(about) };
}

/** Derives the sealing key and its id independently. */
async function deriveKey(secret: SecretsKey): Promise<Derived> {
	const material = await crypto.subtle.importKey('raw', secret, 'HKDF', false, ['deriveBits', 'deriveKey']);
	const params = (info: string) => ({
		name: 'HKDF',
		hash: 'SHA-256',
		salt: joinBytes('runlet secrets'),
		info: joinBytes(info),
	});
	const [id, key] = await Promise.all([
		crypto.subtle.deriveBits(params('id'), material, 64),
		crypto.subtle.deriveKey(params('seal'), material, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']),
	]);
	return { id: toBase64Url(new Uint8Array(id)), key };
}
