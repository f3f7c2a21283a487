import type { filePage } from '../wire/file.ts';
import type { Shown } from '../wire/operation.ts';
import type { Bytes } from './result.ts';

/** The requested files or changes. */
export interface FilePageQuery {
	readonly cursor?: string;
	readonly limit?: number;
}

export type FilePage = Shown<typeof filePage>;

/** The requested bytes of a file: from a place on, up to another that is included, or the last ones. */
export type FileRange = { readonly from: number; readonly to?: number } | { readonly last: number };

/** The request for a file. */
export interface FileRequest {
	readonly range?: FileRange;
	/** The entity tags of the versions that the client has. */
	readonly known?: readonly string[];
	/** Whether the client wants to know of the file only. */
	readonly isHead?: boolean;
}

/** A file on its way to a client. */
export type FileDownload = FilePage['files'][number] & {
	/** The entity tag of this version. */
	readonly tag: string;
	/** The bytes of the body: from the first up to the last, which is not included. */
	readonly from: number;
	readonly to: number;
	/** Missing if the client does not need it. */
	readonly body?: Bytes;
};

/** The condition of a change: one of these entity tags of the file, or that there is one (`*`), or that there is none. */
export interface IfMatch {
	readonly ifMatch?: '*' | readonly string[];
	readonly ifNoneMatch?: boolean;
}

/** A file that was taken in. */
export interface WrittenFile {
	readonly file: FilePage['files'][number];
	readonly tag: string;
	/** Whether there was no file at its path. */
	readonly isNew: boolean;
}
