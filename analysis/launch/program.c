/* SPDX-License-Identifier: MIT */
/* analysis/launch/program.c - find the file of a command, and whether LD_PRELOAD works for it */

#include "analysis/launch/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The kernel follows chains of scripts this deep, and reads this many bytes of "#!". */
enum { SCRIPT_DEPTH = 5, SCRIPT_LINE = 256 };

static const char loader_name[] = "ld-linux-x86-64.so.2";

void cpa_complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("cpa: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Return 0 if the kernel would try to execute @path, else an errno value. */
static int executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	if (!S_ISREG(st.st_mode))
		return ENOEXEC;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? errno : 0;
}

static int complain_not_executable(const char *path, int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		cpa_complain("%s: not found (check the path)", path);
		return CPA_EXIT_NOT_FOUND;
	case EISDIR:
		cpa_complain("%s: a directory, not a program (name the file in it)", path);
		break;
	case ENOEXEC:
		cpa_complain("%s: not a regular file, so not a program", path);
		break;
	case EACCES:
		cpa_complain("%s: not executable (chmod +x, or run it through its interpreter)",
			     path);
		break;
	default:
		cpa_complain("%s: cannot be executed: %s", path, strerror(error));
	}
	return CPA_EXIT_CANNOT_EXECUTE;
}

static int copy_path(char *to, const char *from)
{
	if (strlen(from) >= PATH_MAX) {
		cpa_complain("%.40s...: path too long", from);
		return CPA_EXIT_NOT_FOUND;
	}
	strcpy(to, from);
	return 0;
}

int cpa_program_find(struct cpa_program *program, const char *name)
{
	const char *search = getenv("PATH");
	const char *end;
	int error, unusable = 0;

	if (strchr(name, '/')) {
		error = executable(name);
		return error ? complain_not_executable(name, error) :
			       copy_path(program->path, name);
	}
	/* As execvp() does if PATH is not set. */
	for (search = search ? search : "/bin:/usr/bin"; *name; search = end + 1) {
		int len;

		end = strchrnul(search, ':');
		/* An empty entry is the current folder. */
		len = snprintf(program->path, PATH_MAX, "%.*s/%s",
			       end > search ? (int)(end - search) : 1, end > search ? search : ".",
			       name);
		error = len < PATH_MAX ? executable(program->path) : ENAMETOOLONG;
		if (!error)
			return 0;
		if (error == EACCES)
			unusable = EACCES;
		if (!*end)
			break;
	}
	if (unusable)
		return complain_not_executable(name, unusable);
	cpa_complain("%s: not found in PATH (write ./%s for one in this folder)", name, name);
	return CPA_EXIT_NOT_FOUND;
}

/*
 * The reason why running @image changes the user or group, or adds capabilities, so that the loader
 * ignores LD_PRELOAD; NULL: none. The bits have no effect on a nosuid mount, under no_new_privs, or
 * for a user who has the privilege.
 */
static const char *privilege_gained(const char *image)
{
	struct stat st;
	struct statvfs fs;

	if (stat(image, &st) < 0 || (statvfs(image, &fs) == 0 && (fs.f_flag & ST_NOSUID)) ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return NULL;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return "set-uid";
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getgid())
		return "set-gid";
	if (getuid() != 0 && getxattr(image, "security.capability", NULL, 0) > 0)
		return "given file capabilities";
	return NULL;
}

/* Read the path of the loader from an ELF image. Return false if it has none: it is static. */
static bool elf_loader(int fd, const Elf64_Ehdr *header, char *loader, size_t size)
{
	Elf64_Phdr part;

	for (unsigned int i = 0; i < header->e_phnum; i++) {
		off_t at = (off_t)(header->e_phoff + (Elf64_Off)i * header->e_phentsize);

		if (pread(fd, &part, sizeof(part), at) != sizeof(part))
			return false;
		if (part.p_type == PT_INTERP && part.p_filesz > 0 && part.p_filesz < size) {
			ssize_t len = pread(fd, loader, part.p_filesz, (off_t)part.p_offset);

			loader[len > 0 ? len : 0] = '\0';
			return len > 0;
		}
	}
	return false;
}

static int check_elf(int fd, const Elf64_Ehdr *header, const char *image)
{
	char loader[PATH_MAX];
	const char *privilege;

	if (header->e_ident[EI_CLASS] != ELFCLASS64) {
		cpa_complain("%s: a 32-bit program; libcpa.so is for 64-bit x86-64 "
			     "(build it without -m32 or -mx32)",
			     image);
		return CPA_EXIT_CANNOT_EXECUTE;
	}
	if (header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != EM_X86_64) {
		cpa_complain("%s: a program for another machine (ELF machine %u); libcpa.so is "
			     "for x86-64",
			     image, header->e_machine);
		return CPA_EXIT_CANNOT_EXECUTE;
	}
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN) {
		cpa_complain("%s: an ELF file of type %u, not a program (link it first)", image,
			     header->e_type);
		return CPA_EXIT_CANNOT_EXECUTE;
	}
	if (!elf_loader(fd, header, loader, sizeof(loader))) {
		cpa_complain("%s: statically linked, so LD_PRELOAD cannot reach it "
			     "(link it without -static or -static-pie)",
			     image);
		return CPA_EXIT_CANNOT_EXECUTE;
	}
	if (strcmp(last_part(loader), loader_name) != 0) {
		cpa_complain("%s: uses the loader %s; libcpa.so needs %s (build it with glibc)",
			     image, loader, loader_name);
		return CPA_EXIT_CANNOT_EXECUTE;
	}
	privilege = privilege_gained(image);
	if (privilege) {
		cpa_complain("%s: %s, so the loader ignores LD_PRELOAD "
			     "(profile a plain copy, or run as the user it changes to)",
			     image, privilege);
		return CPA_EXIT_CANNOT_EXECUTE;
	}
	return 0;
}

/* Extract the interpreter's path from "#! /bin/sh -e", changing @line. NULL: there is none. */
static char *script_interpreter(char *line)
{
	char *name;

	line[strcspn(line, "\n")] = '\0';
	name = line + 2;
	name += strspn(name, " \t");
	name[strcspn(name, " \t")] = '\0';
	return *name ? name : NULL;
}

int cpa_program_check(struct cpa_program *program)
{
	int ret = copy_path(program->image, program->path);

	for (int depth = 0; !ret && depth < SCRIPT_DEPTH; depth++) {
		union {
			Elf64_Ehdr elf;
			char line[SCRIPT_LINE];
		} head = { .line = "" };
		int fd = open(program->image, O_RDONLY | O_CLOEXEC);
		char *interpreter;
		ssize_t len;
		int error;

		if (fd < 0 && errno == EACCES)
			return 0; /* executable but not readable: the kernel decides */
		len = fd < 0 ? -1 : pread(fd, &head, sizeof(head) - 1, 0);
		if (len >= (ssize_t)sizeof(head.elf) &&
		    memcmp(head.elf.e_ident, ELFMAG, SELFMAG) == 0) {
			ret = check_elf(fd, &head.elf, program->image);
			close(fd);
			return ret;
		}
		if (fd >= 0)
			close(fd);
		if (len < 2 || memcmp(head.line, "#!", 2) != 0) {
			cpa_complain("%s: neither an ELF program nor a script that begins with #!",
				     program->image);
			return CPA_EXIT_CANNOT_EXECUTE;
		}
		interpreter = script_interpreter(head.line);
		error = interpreter ? executable(interpreter) : ENOENT;
		if (error) {
			cpa_complain("%s: its interpreter %s cannot be executed: %s",
				     program->image, interpreter ? interpreter : "(none)",
				     strerror(error));
			return CPA_EXIT_CANNOT_EXECUTE;
		}
		ret = copy_path(program->image, interpreter);
	}
	if (!ret) {
		cpa_complain("%s: more than %d scripts, each the interpreter of the one before",
			     program->path, SCRIPT_DEPTH);
		ret = CPA_EXIT_CANNOT_EXECUTE;
	}
	return ret;
}

void cpa_program_exe_name(const struct cpa_program *program, char *name, size_t size)
{
	char resolved[PATH_MAX];
	const char *image = realpath(program->image, resolved) ? resolved : program->image;

	snprintf(name, size, "%s", last_part(image));
}
