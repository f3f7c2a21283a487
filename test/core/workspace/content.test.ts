import { expect, test } from 'vitest';
import { findMediaType } from '../../../src/core/workspace/content.ts';

test.each([
	['photo.PNG', 'image/png'],
	['backup.tar.gz', 'application/gzip'],
	['report.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
	['index.html', 'text/html'],
	['config.yml', 'text/yaml'],
	['main.rs', undefined],
	['constructor', undefined],
	['.', undefined],
])('the media type of %s is %s', (name, type) => {
	expect(findMediaType(name)).toBe(type);
});
