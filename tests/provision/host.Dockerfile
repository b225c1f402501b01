# A host with nothing but systemd, sshd and sudo, as a cloud's image of Debian has them: bin/provision brings the rest.
ARG BASE
FROM $BASE
RUN install-packages systemd systemd-sysv dbus openssh-server sudo iproute2
# An Engine in a container writes to cgroups that are mounted read-only there.
# Each host makes keys of its own at its first start. What waits for a console or for real devices is left out.
RUN mkdir -p /etc/systemd/system/ssh.service.d && \
    printf '[Service]\nExecStartPre=\nExecStartPre=/usr/bin/ssh-keygen -A\nExecStartPre=/usr/sbin/sshd -t\n' \
        >/etc/systemd/system/ssh.service.d/keys.conf && \
    rm -f /etc/ssh/ssh_host_* /etc/machine-id && touch /etc/machine-id && \
    systemctl mask systemd-firstboot.service systemd-udevd.service systemd-networkd.service console-getty.service \
        getty@tty1.service systemd-logind.service && \
    mkdir -p /etc/systemd/system/docker.service.d && \
    printf '[Service]\nExecStartPre=/bin/sh -c "for folder in /sys/fs/cgroup/*; do mount -o remount,rw,bind $$folder || true; done"\n' \
        >/etc/systemd/system/docker.service.d/cgroups.conf && \
    useradd --create-home --shell /bin/bash admin && \
    echo 'admin ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/admin && \
    install -d -m 700 -o admin -g admin /home/admin/.ssh
STOPSIGNAL SIGRTMIN+3
CMD ["/lib/systemd/systemd"]
