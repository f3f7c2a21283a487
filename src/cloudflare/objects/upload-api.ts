import type { RpcResult } from './reach.ts';

/** A file that a person has uploaded for later requests (docs/files.md, "Files by id"). */
export interface Upload {
	/** Ids sort by the time of the upload. */
	readonly id: string;
	/** Missing for a file of the owner itself. */
	readonly user?: string;
	readonly name: string;
	readonly purpose: string;
	readonly mime: string;
	/** Bytes. */
	readonly size: number;
	/** Milliseconds since 1970. */
	readonly createdAt: number;
	readonly expiresAt?: number;
}

export interface UploadContent extends Upload {
	readonly content: Uint8Array;
}

export interface UploadQuery {
	readonly user?: string;
	/** Only this file. */
	readonly id?: string;
	readonly purpose?: string;
	/** The last id of the previous page. */
	readonly after?: string;
	readonly limit: number;
	readonly isOldestFirst?: boolean;
}

/** The uploaded files of an owner. Each belongs to a user, or to the owner itself. Each method is idempotent. */
export interface UploadApi {
	/** Stores a file. Fails with `too_large` if the user or the owner has too many files or bytes. */
	putUpload(upload: Upload, content: Uint8Array): Promise<RpcResult<void>>;
	listUploads(query: UploadQuery): Promise<RpcResult<readonly Upload[]>>;
	/** Reads files of a user, and leaves out missing ones. Fails with `too_large` for more than `most` bytes together. */
	readUploads(user: string | undefined, ids: readonly string[], most: number): Promise<RpcResult<UploadContent[]>>;
	/** Removes a file of a user, or all. Returns how many there were. */
	removeUploads(user: string | undefined, id?: string): Promise<RpcResult<number>>;
}

export interface Uploads extends UploadApi {
	/** Removes the files that are over, and sets the next alarm. */
	handleAlarm(): Promise<void>;
}
